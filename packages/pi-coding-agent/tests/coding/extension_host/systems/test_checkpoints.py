"""Checkpoints: record file changes, and restore files and conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.coding.files.disk import FileStamp
from pi.extension import ExtensionAPI, FileChange, FileWrite, FileWritten, SessionControl
from tests.coding.extension_host.extension_session import extension_session


def checkpoints(pi: ExtensionAPI) -> None:
    """``ctrl+z`` restores files and conversation before the turn with changes."""
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


async def test_files_and_conversation_are_restored_together(tmp_path: Path) -> None:
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

    async with extension_session(tmp_path, checkpoints, watching, steps=steps) as hosted:
        (hosted.fixture.cwd / "a").write_text("one")
        await hosted.session.prompt("hello")
        before = hosted.session.messages[-1]
        await hosted.session.prompt("change it")
        after = [(hosted.fixture.cwd / name).read_text() for name in "ab"]
        blob = hosted.session.workspace.blobs.put(b"one")
        assert await hosted.session.extensions.press("ctrl+z")
        async with asyncio.timeout(30):
            await moved.wait()

        assert after == ["two", "new"]
        assert (hosted.fixture.cwd / "a").read_text() == "one"
        assert hosted.session.messages[-1] == before
        assert hosted.session.workspace.blobs.get(blob.ref) == b"one"
        assert hosted.failures == []


async def test_touches_returns_the_files_that_a_call_will_change(tmp_path: Path) -> None:
    seen: list[Any] = []

    def looking(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def look(event: Any, ctx: Any) -> None:
            tool = next(tool for tool in pi.get_all_tools() if tool.name == event.tool_name)
            if tool.touches is not None:
                seen.extend(tool.touches(tool.validate(event.input)))

    steps = (calls("write", path="a", content="x"), says("done"))
    async with extension_session(tmp_path, looking, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert seen == [str(hosted.fixture.cwd / "a")]
        assert hosted.failures == []


class Snapshots:
    """Detects file changes of commands by their stamps; contents are kept as blobs."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._stamps: dict[str, FileStamp] = {}
        self._refs: dict[str, tuple[str, int]] = {}

    async def take(self) -> None:
        """Store the files that changed since the last snapshot."""
        files = self._pi.context.files
        now = await files.scan()
        changed = [name for name in now if now[name] != self._stamps.get(name)]
        read = await files.read_many(changed)
        texts = {name: data for name, data in read.items() if isinstance(data, bytes)}
        blobs = self._pi.context.blobs.owned_by("snapshots").put_many(texts.values())
        for name, blob in zip(texts, blobs, strict=True):
            self._refs[name] = (blob.ref, now[name].mode & 0o777)
        self._stamps = now

    async def restore(self) -> list[str]:
        """Restore the last snapshot. Returns the files that were changed."""
        files, blobs = self._pi.context.files, self._pi.context.blobs
        now = await files.scan()
        wrong = sorted(n for n in now | self._stamps if now.get(n) != self._stamps.get(n))
        for name in wrong:
            if name not in self._stamps:
                await files.remove(name)
                continue
            ref, mode = self._refs[name]
            await files.write_file(name, blobs.get(ref) or b"", mode=mode)
        return wrong


async def test_file_changes_of_a_command_are_detected_and_undone(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    changes: list[tuple[str, bool]] = []
    script = "printf 2 > run.sh; chmod -x run.sh; rm gone; touch made"
    steps = (calls("bash", command=script), says("done"))

    async def watch(change: FileChange, write: FileWrite) -> FileWritten:
        changes.append((change.path.name, change.after is None))
        return await write(change)

    def rewind(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.wrap_files(watch)

    async with extension_session(tmp_path, rewind, steps=steps) as hosted:
        folder = hosted.fixture.cwd
        (folder / "run.sh").write_text("1")
        (folder / "run.sh").chmod(0o755)
        (folder / "gone").write_text("here")
        snapshots = Snapshots(apis[0])
        await snapshots.take()
        await hosted.session.prompt("go")
        wrong = await snapshots.restore()

        assert wrong == ["gone", "made", "run.sh"]
        assert sorted(path.name for path in folder.iterdir()) == ["gone", "run.sh"]
        assert (folder / "gone").read_text() == "here"
        assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755
        assert changes == [("gone", False), ("made", True), ("run.sh", False)]
        assert apis[0].context.blobs.owned_by("snapshots").release() == 2
