"""Plan mode: other tools, another model, no writes; all restored afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.extension import ExtensionAPI, FileChange, FileWrite, FileWritten, ToolFailed
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import Pair


def plan(pi: ExtensionAPI) -> None:
    """``/plan`` and ``/go``."""
    undo: list[Any] = []

    async def refuse(change: FileChange, write: FileWrite) -> FileWritten:
        raise ToolFailed("Only plan.")

    @pi.command("plan")
    async def begin(args: str, ctx: Any) -> None:
        model = ctx.model
        guard = pi.wrap_files(refuse, at="first")
        limit = pi.limit_tools(["read", "write"])
        assert await pi.set_model(pi.models.resolve("faux/plain"))  # type: ignore[arg-type]
        await pi.append_entry("plan", {"on": True})

        async def end() -> None:
            guard.remove()
            limit.remove()
            await pi.set_model(model)
            await pi.append_entry("plan", {"on": False})

        undo.append(end)

    @pi.command("go")
    async def go(args: str, ctx: Any) -> None:
        await undo.pop()()


async def test_nothing_is_written_until_the_plan_is_approved(tmp_path: Path) -> None:
    write = calls("write", path="a", content="x")
    pair = Pair(write, says("planned"), write, says("done"))
    async with extension_session(tmp_path, plan) as hosted:
        hosted.fixture.registry.models.register(pair)
        before = hosted.session.active_tools
        await hosted.session.prompt("/plan")
        await hosted.session.prompt("make it")
        planned = (hosted.session.active_tools, (hosted.fixture.cwd / "a").exists())
        await hosted.session.prompt("/go")
        await hosted.session.prompt("make it")

        assert planned == (("read", "write"), False)
        assert (hosted.session.active_tools, (hosted.fixture.cwd / "a").read_text()) == (
            before,
            "x",
        )
        models = [request.model.id for request in pair.requests]
        assert models == ["plain", "plain", "faux", "faux"]
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert [result.is_error for result in results] == [True, False]
        assert hosted.failures == []
