from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.tools.tool import ToolFailed
from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.references import Resource, ResourceRef, ResourceWindow
from pi.coding.files.layers import FileChange, FileWrite, FileWritten
from tests.coding.extension_host.extension_session import Extension, extension_session


async def outputs(tmp_path: Path, extension: Extension, *steps: Step) -> list[tuple[str, bool]]:
    async with extension_session(tmp_path, extension, steps=(*steps, says("done"))) as hosted:
        await hosted.session.prompt("go")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [
        ("".join(part.text for part in result.content if isinstance(part, Text)), result.is_error)
        for result in results
    ]


class Rules:
    """Texts by name, which can only be read."""

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        if ref.rest != "style":
            raise ToolFailed(f"There is no rule {ref.rest}. Available: style")
        return Resource(text="one\ntwo\nthree")


async def test_a_reference_is_read_like_a_file_and_writing_it_is_refused(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_scheme("rule", Rules())

    assert await outputs(
        tmp_path,
        extension,
        calls("read", path="rule://style"),
        calls("read", path="rule://style", offset=2, limit=1),
        calls("read", path="rule://other"),
        calls("write", path="rule://style", content="x"),
        calls("read", path="nope.txt"),
    ) == [
        ("one\ntwo\nthree", False),
        ("two\n\n[Showing lines 2-2 of 3. Use offset=3 to go on.]", False),
        ("There is no rule other. Available: style", True),
        ("rule://style can only be read.", True),
        (f"ENOENT: no such file or directory, access '{tmp_path}/home/project/nope.txt'", True),
    ]


async def test_a_note_is_shown_before_every_part_of_a_resource(tmp_path: Path) -> None:
    class Pages:
        async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
            return Resource(text="one\ntwo", note="[From a server.]")

    def extension(pi: ExtensionAPI) -> None:
        pi.add_scheme("page", Pages())

    assert await outputs(
        tmp_path,
        extension,
        calls("read", path="page://a", limit=1),
        calls("read", path="page://a", offset=2),
    ) == [
        ("[From a server.]\n\none\n\n[Showing lines 1-1 of 2. Use offset=2 to go on.]", False),
        ("[From a server.]\n\ntwo", False),
    ]


async def test_a_path_form_can_be_written(tmp_path: Path) -> None:
    texts: dict[str, str] = {}

    class Table:
        async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
            return Resource(text=texts[ref.rest])

        async def write(self, ref: ResourceRef, text: str) -> FileWritten:
            texts[ref.rest] = text
            return FileWritten(notes=("1 row",))

    def parse(text: str) -> ResourceRef | None:
        _, colon, key = text.partition(".db:")
        return ResourceRef(text=text, rest=key) if colon else None

    def extension(pi: ExtensionAPI) -> None:
        pi.add_path_form(parse, Table())

    reported = await outputs(
        tmp_path,
        extension,
        calls("write", path="x.db:key", content="value"),
        calls("read", path="x.db:key"),
    )

    assert [text for text, _ in reported] == ["Successfully wrote to x.db:key\n1 row", "value"]


async def test_file_layers_can_add_notes_to_tool_results(tmp_path: Path) -> None:
    changes: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        async def format(change: FileChange, write: FileWrite) -> FileWritten:
            changes.append((change.path.name, change.before, change.call_id != ""))
            await write(change)
            return FileWritten(notes=("formatted",), details={"checked": True})

        pi.wrap_files(format)

    reported = await outputs(
        tmp_path,
        extension,
        calls("write", path="a.py", content="x = 1"),
        calls("edit", path="a.py", edits=[{"oldText": "1", "newText": "2"}]),
    )

    assert [text for text, _ in reported] == [
        "Successfully wrote to a.pyformatted",
        "Successfully replaced 1 block(s) in a.py.formatted",
    ]
    assert changes == [("a.py", None, True), ("a.py", b"x = 1", True)]


async def test_a_file_layer_can_refuse_writes(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        async def guard(change: FileChange, write: FileWrite) -> FileWritten:
            raise ToolFailed("The plan is not approved yet: nothing is written.")

        pi.wrap_files(guard, at="first")

    reported = await outputs(tmp_path, extension, calls("write", path="a.py", content="x"))

    assert reported == [("The plan is not approved yet: nothing is written.", True)]
    assert not (tmp_path / "home/project/a.py").exists()


async def test_a_reference_is_listed_if_its_handler_supports_it(tmp_path: Path) -> None:
    class Listing(Rules):
        def list(self, ref: ResourceRef) -> list[str]:
            return [] if ref.rest else ["style", "tests"]

    def extension(pi: ExtensionAPI) -> None:
        pi.add_scheme("rule", Listing())
        pi.add_scheme("other", Rules())
        pi.on("session_start", lambda event, ctx: pi.set_active_tools(["ls"]))

    assert await outputs(
        tmp_path,
        extension,
        calls("ls", path="rule://"),
        calls("ls", path="rule://style"),
        calls("ls", path="other://"),
        calls("ls"),
    ) == [
        ("style\ntests", False),
        ("(nothing)", False),
        ("other:// cannot be listed.", True),
        ("(empty directory)", False),
    ]


async def test_a_handler_completes_a_reference(tmp_path: Path) -> None:
    class Knowing(Rules):
        async def complete(self, prefix: str) -> list[str]:
            if prefix == "!":
                raise ValueError("no")
            return [name for name in ("style", "tests") if name.startswith(prefix)]

    def extension(pi: ExtensionAPI) -> None:
        pi.add_scheme("rule", Knowing())
        pi.add_scheme("other", Rules())

    async with extension_session(tmp_path, extension) as hosted:
        offered = [
            await hosted.session.extensions.references(typed)
            for typed in ("rule://", "rule://t", "rule://!", "other://", "file:x")
        ]

    assert offered == [["rule://style", "rule://tests"], ["rule://tests"], (), [], []]
