"""LSP: writes are formatted before and diagnosed after; one service per directory."""

from __future__ import annotations

from pathlib import Path

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.extension import ExtensionAPI, FileChange, FileWrite, FileWritten, Scope
from tests.coding.extension_host.extension_session import extension_session


class Service:
    """A minimal language server."""

    started = 0

    def __init__(self, scope: Scope, reported: list[str]) -> None:
        Service.started += 1
        self.ended = False
        scope.on_close(lambda: reported.append("closed"))

    async def format(self, text: bytes) -> bytes:
        return text.replace(b"\t", b"    ")

    async def diagnose(self, text: bytes) -> tuple[str, ...]:
        return ("1: unused variable x",) if b"x =" in text else ()


def lsp(reported: list[str]) -> object:
    def extension(pi: ExtensionAPI) -> None:
        async def start(scope: Scope) -> Service:
            return Service(scope, reported)

        async def through(change: FileChange, write: FileWrite) -> FileWritten:
            if change.after is None:
                return await write(change)
            service = await pi.shared(("lsp", str(pi.context.cwd), id(reported)), start)
            after = await service.format(change.after)
            written = await write(replace(change, after=after))
            notes = await service.diagnose(after)
            details = {"diagnostics": list(notes)}
            return replace(written, notes=written.notes + notes, details=details)

        pi.wrap_files(through)

    return extension


async def test_edits_and_writes_are_formatted_and_diagnosed(tmp_path: Path) -> None:
    reported: list[str] = []
    began = Service.started
    edits = [{"oldText": "y", "newText": "\tx = 1"}]
    steps = (
        calls("write", path="a.py", content="\ty"),
        calls("edit", path="a.py", edits=edits),
        says("done"),
    )
    async with extension_session(tmp_path, lsp(reported), steps=steps) as hosted:  # type: ignore[arg-type]
        await hosted.session.prompt("go")

        first, second = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert (hosted.fixture.cwd / "a.py").read_text() == " " * 8 + "x = 1"
        assert [block.text for block in first.content] == ["Successfully wrote to a.py"]  # type: ignore[union-attr]
        assert second.content[-1].text == "1: unused variable x"  # type: ignore[union-attr]
        assert isinstance(second.details, dict)
        assert second.details["diagnostics"] == ["1: unused variable x"]
        assert (Service.started - began, reported) == (1, [])
    assert reported == ["closed"]


async def test_a_file_layer_can_replace_the_result_text_of_a_tool(tmp_path: Path) -> None:
    def rich(pi: ExtensionAPI) -> None:
        async def through(change: FileChange, write: FileWrite) -> FileWritten:
            written = await write(change)
            return replace(written, text=f"Wrote {len(change.after or b'')} bytes.", notes=("ok",))

        pi.wrap_files(through)

    steps = (calls("write", path="a", content="abc"), says("done"))
    async with extension_session(tmp_path, rich, steps=steps) as hosted:
        await hosted.session.prompt("go")

        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert [block.text for block in result.content] == ["Wrote 3 bytes.", "ok"]  # type: ignore[union-attr]
