from __future__ import annotations

import asyncio
import codecs
import os
from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, FilePreview, ToolFailed, ToolResult
from pi.coding.tools.edit import MAX_FILE_BYTES, prepare_edit
from pi.testing import call, says
from tests.agent.agents import AgentFixture
from tests.bounded import LoopWatchdog
from tests.coding.tools.places import make, text_of, use


@pytest.fixture
def edit(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "edit")


def change(old: str, new: str) -> list[dict[str, str]]:
    return [{"oldText": old, "newText": new}]


@pytest.mark.behaviour("edit-keeps-crlf-and-bom")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", b"\xef\xbb\xbfone\r\n2\r\nmore\r\n"),
        (
            codecs.BOM_UTF16_LE + "one\r\ntwo\r\n".encode("utf-16-le"),
            codecs.BOM_UTF16_LE + "one\r\n2\r\nmore\r\n".encode("utf-16-le"),
        ),
        (b"one\ntwo", b"one\n2\nmore"),
    ],
)
async def test_a_file_keeps_its_encoding_mark_and_line_ends(
    edit: AgentTool, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "f").write_bytes(before)

    result = await use(edit, path="f", edits=change("two", "2\nmore"))

    assert (tmp_path / "f").read_bytes() == after
    assert isinstance(result.details, dict)
    assert result.details["diff"] == " 1 one\n-2 two\n+2 2\n+3 more"


async def test_an_edit_may_include_the_byte_order_mark(edit: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfone\ntwo\n")

    await use(edit, path="f", edits=change("\ufeffone", "\ufeff1"))

    assert (tmp_path / "f").read_bytes() == b"\xef\xbb\xbf1\ntwo\n"


@pytest.mark.behaviour("invalid-utf8-is-refused")
async def test_a_file_that_is_not_text_is_not_edited(edit: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\xffb")

    with pytest.raises(ToolFailed, match=r"^Could not edit file: f\. It is not valid UTF-8"):
        await use(edit, path="f", edits=change("a", "b"))

    assert (tmp_path / "f").read_bytes() == b"a\xffb"


@pytest.mark.behaviour("empty-file-can-be-edited")
async def test_an_empty_file_can_be_edited(edit: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    result = await use(edit, path="f", edits=change("", "first\n"))

    assert (tmp_path / "f").read_text() == "first\n"
    assert result == ToolResult.of(
        "Successfully replaced 1 block(s) in f.",
        details={
            "diff": "+1 first",
            "patch": "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+first\n",
            "firstChangedLine": 1,
        },
    )


@pytest.mark.behaviour("extra-edit-fields-are-ignored")
async def test_unknown_fields_are_ignored(edit: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")

    await use(
        edit,
        path="f",
        reason="because",
        edits=[{"oldText": "a", "newText": "b", "lineNumber": 1, "explanation": "x"}],
    )

    assert (tmp_path / "f").read_text() == "b"


@pytest.mark.behaviour("extra-edit-fields-are-ignored")
@pytest.mark.parametrize(
    ("path", "code"), [("gone", "ENOENT"), ("folder", "EISDIR"), ("file/x", "ENOTDIR")]
)
async def test_file_system_errors_are_reported_with_their_code(
    edit: AgentTool, tmp_path: Path, path: str, code: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(ToolFailed) as failed:
        await use(edit, path=path, edits=change("a", "b"))

    assert failed.value.message == f"Could not edit file: {path}. Error code: {code}."


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("pipe", "it is a device or a pipe, not a regular file"),
        ("huge", "it is larger than 64 MiB"),
    ],
)
async def test_pipes_and_huge_files_are_not_read(
    edit: AgentTool, tmp_path: Path, path: str, why: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", MAX_FILE_BYTES + 1)

    with pytest.raises(ToolFailed) as failed:
        await use(edit, path=path, edits=change("a", "b"))

    assert failed.value.message == f"Could not edit file: {path}. Cannot read {path}: {why}."


@pytest.mark.behaviour("elision-is-never-written")
async def test_an_edit_with_a_placeholder_line_is_rejected(edit: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")

    with pytest.raises(ToolFailed, match="stands for text that was left out"):
        await use(edit, path="f", edits=change("two", "# ... existing code ..."))

    assert (tmp_path / "f").read_text() == "one\ntwo\n"


async def test_a_lone_surrogate_is_written_as_a_replacement_character(
    edit: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("a")

    await use(edit, path="f", edits=change("a", "b\ud83dc"))

    assert (tmp_path / "f").read_text("utf-8") == "b\ufffdc"


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "f", "oldText": "a", "newText": "b"},
        {"path": "f", "edits": '[{"oldText": "a", "newText": "b"}]'},
        {"path": "f", "edits": [{"oldText": "a", "newText": "b"}]},
    ],
)
def test_alternative_forms_of_an_edit_are_accepted(arguments: dict[str, object]) -> None:
    assert prepare_edit(arguments) == {
        "path": "f",
        "edits": [{"oldText": "a", "newText": "b"}],
    }


@pytest.mark.parametrize(
    "edits", ["[oh", '["\ud800"]', "[" * 100_000], ids=["no JSON", "half a letter", "too deep"]
)
def test_invalid_edits_are_left_to_validation(edits: str) -> None:
    assert prepare_edit({"path": "f", "edits": edits}) == {"path": "f", "edits": edits}


@pytest.mark.behaviour("edits-are-serialised")
async def test_edits_and_writes_of_one_file_happen_in_the_order_of_the_calls(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to("f")
    steps = [
        call("edit", path="link" if n % 2 else "f", edits=change(str(n), str(n + 1)))
        for n in range(9)
    ]
    script = says("now", call("write", path="f", content="0"), *steps)
    fixture = AgentFixture(
        script, says("ok"), tools=[make(tmp_path, "edit"), make(tmp_path, "write")]
    )

    await fixture.agent.prompt("go")

    assert (tmp_path / "f").read_text() == "9"


@pytest.mark.parametrize(
    ("edits", "added", "removed"),
    [
        ([], "", ""),
        ([{"oldText": "one"}], "", "one"),
        ([{"oldText": "one", "newText": "1"}, {"oldText": "tw"}, "junk"], "1", "one\ntw"),
        ([{"oldText": "a", "newText": "x"}, {"oldText": "b", "newText": "y"}], "x\ny", "a\nb"),
    ],
)
def test_a_preview_is_the_new_and_the_old_text_and_reads_no_file(
    edit: AgentTool, edits: list[object], added: str, removed: str
) -> None:
    assert edit.preview is not None

    preview = edit.preview({"path": "gone", "edits": edits})

    assert preview == FilePreview(path="gone", added=added, removed=removed)


@pytest.mark.parametrize("arguments", [{}, {"path": "f"}, {"path": "f", "edits": "["}])
def test_incomplete_arguments_have_no_preview(
    edit: AgentTool, arguments: dict[str, object]
) -> None:
    assert edit.preview is not None

    assert edit.preview(arguments) is None


MANY_LINES = "".join(f"line {number};\n" for number in range(20_000))
MANY_EDITS = [
    {"oldText": f"line {number};", "newText": f"row {number};"} for number in range(0, 20_000, 2)
]


@pytest.mark.full
@pytest.mark.timing
async def test_thousands_of_edits_do_not_block_the_event_loop(
    edit: AgentTool, tmp_path: Path, watchdog: LoopWatchdog
) -> None:
    (tmp_path / "f").write_text(MANY_LINES)

    answer = await text_of(edit, path="f", edits=MANY_EDITS[:5000])

    assert answer == "Successfully replaced 5000 block(s) in f."


async def test_an_edit_cancelled_during_its_computation_leaves_the_file_unchanged(
    edit: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text(MANY_LINES)
    call_of_tool = asyncio.create_task(use(edit, path="f", edits=MANY_EDITS))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await call_of_tool

    assert call_of_tool.cancelled()
    assert (tmp_path / "f").read_text() == MANY_LINES
