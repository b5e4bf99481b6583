"""Checkpoints: record file changes, and restore files and conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.extension import ExtensionAPI, FileChange, FileWrite, FileWritten, SessionControl
from tests.coding.extension_host.stage import playing


def checkpoints(pi: ExtensionAPI) -> None:
    """``/rewind`` puts back what the last turn changed."""
    changed: list[tuple[Path, bytes | None]] = []
    turns: list[tuple[str, list[tuple[Path, bytes | None]]]] = []

    async def remember(change: FileChange, write: FileWrite) -> FileWritten:
        if change.before is not None:
            pi.context.blobs.put(change.before)
        changed.append((change.path, change.before))
        return await write(change)

    pi.wrap_files(remember, at="last")

    @pi.on("turn_start")
    def begin(event: Any, ctx: Any) -> None:
        if not changed:
            turns.append((ctx.session_manager.get_leaf_id(), []))

    @pi.on("turn_end")
    def end(event: Any, ctx: Any) -> None:
        turns[-1][1].extend(changed)
        changed.clear()

    async def rewind(control: SessionControl) -> None:
        leaf, files = next(turn for turn in turns if turn[1])
        for path, before in reversed(files):
            await put_back(pi, path, before)
        await control.navigate_tree(leaf)

    pi.register_shortcut("ctrl+z", lambda ctx: pi.when_idle(rewind))


async def put_back(pi: ExtensionAPI, path: Path, before: bytes | None) -> None:
    """Restore a file with the file access of tools."""
    files = pi.context.files
    if before is None:
        await files.remove(str(path))
    else:
        await files.write_file(str(path), before)


async def test_files_and_conversation_go_back_together(tmp_path: Path) -> None:
    edits = [{"oldText": "one", "newText": "two"}]
    steps = (
        says("hi"),
        calls("edit", path="a", edits=edits),
        calls("write", path="b", content="new"),
        says("done"),
    )
    moved = asyncio.Event()

    def watching(pi: ExtensionAPI) -> None:
        pi.on("session_tree", lambda event, ctx: moved.set())

    async with playing(tmp_path, checkpoints, watching, steps=steps) as play:
        (play.stage.cwd / "a").write_text("one")
        await play.session.prompt("hello")
        before = play.session.messages[-1]
        await play.session.prompt("change it")
        after = [(play.stage.cwd / name).read_text() for name in "ab"]
        blob = play.session.workspace.blobs.put(b"one")
        assert await play.session.extensions.press("ctrl+z")
        async with asyncio.timeout(30):
            await moved.wait()

        assert after == ["two", "new"]
        assert (play.stage.cwd / "a").read_text() == "one"
        assert play.session.messages[-1] == before
        assert play.session.workspace.blobs.get(blob.ref) == b"one"
        assert play.failures == []


async def test_tools_say_which_files_a_call_is_about_to_change(tmp_path: Path) -> None:
    seen: list[Any] = []

    def looking(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def look(event: Any, ctx: Any) -> None:
            tool = next(tool for tool in pi.get_all_tools() if tool.name == event.tool_name)
            if tool.touches is not None:
                seen.extend(tool.touches(tool.validate(event.input)))

    steps = (calls("write", path="a", content="x"), says("done"))
    async with playing(tmp_path, looking, steps=steps) as play:
        await play.session.prompt("go")

        assert seen == [str(play.stage.cwd / "a")]
        assert play.failures == []
