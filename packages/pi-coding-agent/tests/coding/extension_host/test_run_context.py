from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.agent.policy import Interrupt
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from tests.coding.extension_host.extension_session import extension_session


async def test_compaction_waits_until_idle_and_reports_its_result(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        def compact(event: Any, ctx: Any) -> None:
            ctx.compact(on_error=lambda error: problems.append(error.message))

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("again")

    assert problems[0] == "Nothing to compact (session too small)"


async def test_a_handler_can_request_abort_and_shutdown(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def stop(event: Any, ctx: Any) -> None:
            ctx.abort()
            ctx.shutdown()

    steps = (calls("bash", command="true"), says("never"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        answer = await hosted.session.prompt("go")
        await hosted.session.extensions.shutdown_requested.wait()

    assert answer is not None
    assert answer.stop_reason == "error"


async def test_tasks_of_the_run_scope_end_with_the_run(tmp_path: Path) -> None:
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                story.append("ended")

        @pi.on("turn_start")
        def begin(event: Any, ctx: Any) -> None:
            ctx.run_scope.spawn(work(), name="work")
            ctx.run_scope.on_close(lambda: story.append("closed"))

        @pi.on("agent_settled")
        def settled(event: Any, ctx: Any) -> None:
            story.append("settled")

    apis: list[ExtensionAPI] = []
    async with extension_session(
        tmp_path, extension, apis.append, steps=(says("hi"), says("ho"))
    ) as hosted:
        await hosted.session.prompt("one")
        first = [*story]
        await hosted.session.prompt("two")

        assert first == ["ended", "closed", "settled"]
        assert story == first * 2
        with pytest.raises(ExtensionError, match="No run is active"):
            _ = apis[0].context.run_scope


async def test_an_interrupt_records_the_name_of_the_extension(tmp_path: Path) -> None:
    def rude(pi: ExtensionAPI) -> None:
        @pi.on("message_update")
        def cut(event: Any, ctx: Any) -> None:
            if ctx.message_token is not None and "two" in str(event.assistant_message_event):
                ctx.interrupt(ctx.message_token, Interrupt("enough"))

    async with extension_session(
        tmp_path, rude, steps=(says("one two three"), says("four"))
    ) as hosted:
        answer = await hosted.session.prompt("count")

        assert answer is not None
        assert answer.text == "four"
        entries = [msgspec.json.decode(raw) for raw in hosted.session.info.entries()]
        cuts = [entry["message"].get("interrupt") for entry in entries if "message" in entry]
        assert {"by": "rude", "reason": "enough"} in cuts
