"""A Python kernel: a persistent child, updates, images, interruption, and a prefix."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.extension import (
    Child,
    ExtensionAPI,
    InputMode,
    Scope,
    Text,
    ToolContext,
    ToolResult,
)
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.tools.test_fitting import picture

PROGRAM = """
import json, sys
space = {}
for line in sys.stdin:
    print(json.dumps(repr(eval(line, space))), flush=True)
"""
PICTURE = picture(2, 2)


class Kernel:
    """A Python process that keeps its state."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.interrupted = 0

    async def run(self, code: str) -> str:
        """Return the value of an expression; cancellations are counted."""
        await self._child.write(code.encode() + b"\n")
        try:
            return str(json.loads(await self._child.output.readline()))
        except asyncio.CancelledError:
            self.interrupted += 1
            raise


def kernel(pi: ExtensionAPI) -> None:
    """``python`` for the model and ``$`` for the user, in one process."""

    async def start(scope: Scope) -> Kernel:
        return Kernel(await pi.spawn([sys.executable, "-u", "-c", PROGRAM], scope=scope))

    async def shared() -> Kernel:
        return await pi.shared(("kernel", str(pi.context.cwd)), start, linger=5)

    @pi.tool
    async def python(code: str, ctx: ToolContext) -> ToolResult:
        """Run an expression."""
        ctx.update(ToolResult.of("running"))
        value = await (await shared()).run(code)
        return ToolResult(content=(Text(text=value), PICTURE))

    async def typed(text: str, ctx: Any) -> None:
        value = await (await shared()).run(text)
        await pi.send_message({"custom_type": "python", "content": f"{text} = {value}"})

    pi.add_input_mode("$", InputMode(label="python", run=typed))


async def test_the_user_and_the_model_share_a_kernel_across_sessions(
    tmp_path: Path,
) -> None:
    steps = (calls("python", code="x + 1"), says("42"))
    async with extension_session(tmp_path, kernel, steps=steps) as hosted:
        assert hosted.session.extensions.input_mode("$1") is not None
        assert await hosted.session.extensions.handle_input("$ (x := 41)")
        await hosted.session.prompt("go on")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        await hosted.session.new_session()
        await hosted.session.extensions.handle_input("$ x")

        assert [result.content for result in results] == [(Text(text="42"), PICTURE)]
        updates = hosted.emitted("ToolExecutionUpdate")
        assert [event.partial_result.content for event in updates] == [(Text(text="running"),)]
        assert [m.content for m in hosted.session.messages] == ["x = 41"]  # type: ignore[union-attr]
        assert hosted.failures == []
        await hosted.host.close()
        await hosted.fixture.clock.advance(6)


async def test_an_abort_cancels_a_waiting_tool(tmp_path: Path) -> None:
    ended = asyncio.Event()
    begun = asyncio.Event()

    def slow(pi: ExtensionAPI) -> None:
        @pi.tool
        async def wait(ctx: ToolContext) -> str:
            """Wait forever."""
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return ""

    async with extension_session(tmp_path, slow, steps=(calls("wait"), says("never"))) as hosted:
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        async with asyncio.timeout(30):
            await begun.wait()
            await hosted.session.abort()
            await run

        assert ended.is_set()
