"""Every variant of ``edit`` keeps encodings and line ends, and rejects unsafe changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import ToolCall, ToolResultMessage
from pi.ai.providers.faux import says
from pi.batteries.edit_variants.adapter import extension
from pi.batteries.edit_variants.hunks import locate_hunks
from pi.batteries.edit_variants.lines import HashEdit, line_hash, locate_hashes
from pi.batteries.edit_variants.patches import parse_codex, parse_unified
from pi.coding.tools.edit import Locate, edit_bytes
from pi.extension import ToolFailed
from pi.testing import Reply
from tests.coding.extension_host.extension_session import extension_session

VARIANTS = ("patch", "apply_patch", "hashline")


def change(variant: str, old: str, new: str, *, line: int = 1) -> Locate:
    """Replaces a line; an empty ``old`` inserts into an empty file."""
    body = [*([f"-{old}"] if old else []), f"+{new}"]
    match variant:
        case "patch":
            head = f"@@ -{line} +{line} @@" if old else "@@ -0,0 +1 @@"
            (patch,) = parse_unified("\n".join(["--- a/f", "+++ b/f", head, *body]))
            return lambda text, form: locate_hunks(text, patch.hunks, "f")
        case "apply_patch":
            lines = ["*** Begin Patch", "*** Update File: f", "@@", *body, "*** End Patch"]
            (patch,) = parse_codex("\n".join(lines))
            return lambda text, form: locate_hunks(text, patch.hunks, "f")
        case _:
            start = f"{line}:{line_hash(old)}" if old else "end"
            edits = [HashEdit(start=start, text=new)]
            return lambda text, form: locate_hashes(text, edits, "f")


@pytest.mark.behaviour("edit-keeps-crlf-and-bom")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_and_line_ends_are_kept(variant: str, encoding: str) -> None:
    data = "one\r\ntwo\r\nthree".encode(encoding)

    edited = edit_bytes(data, "f", change(variant, "two", "2", line=2))

    assert edited.data == "one\r\n2\r\nthree".encode(encoding)


@pytest.mark.behaviour("empty-file-can-be-edited")
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_file_can_be_edited(variant: str) -> None:
    assert edit_bytes(b"", "f", change(variant, "", "one")).data == b"one\n"


@pytest.mark.behaviour("invalid-utf8-is-refused")
@pytest.mark.parametrize("variant", VARIANTS)
def test_invalid_bytes_are_refused(variant: str) -> None:
    with pytest.raises(ToolFailed, match="Writing it back would damage it"):
        edit_bytes(b"one\n\xff\n", "f", change(variant, "one", "1"))


@pytest.mark.behaviour("elision-is-never-written")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_placeholder_for_omitted_text_is_refused(variant: str) -> None:
    with pytest.raises(ToolFailed):
        edit_bytes(b"one\ntwo\n", "f", change(variant, "one", "// ... existing code ..."))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_change_that_changes_nothing_is_an_error(variant: str) -> None:
    with pytest.raises(ToolFailed, match="No changes made to f"):
        edit_bytes(b"one\n", "f", change(variant, "one", "one"))


@pytest.mark.parametrize("variant", ["patch", "apply_patch"])
def test_a_match_that_ignores_spaces_keeps_the_bytes_of_other_lines(variant: str) -> None:
    data = "a  \n  “b”\nc\n".encode()
    hunk = [" a", '-"b"', "+new", " c"]
    if variant == "patch":
        text = "\n".join(["--- a/f", "+++ b/f", "@@ -1,3 +1,3 @@", *hunk])
        (patch,) = parse_unified(text)
    else:
        lines = ["*** Begin Patch", "*** Update File: f", *hunk, "*** End Patch"]
        (patch,) = parse_codex("\n".join(lines))

    edited = edit_bytes(data, "f", lambda text, form: locate_hunks(text, patch.hunks, "f"))

    assert edited.data == b"a  \nnew\nc\n"


def test_a_hunk_that_does_not_fit_shows_the_nearest_lines() -> None:
    text = "".join(f"line {n}\n" for n in range(50))
    lines = ["*** Begin Patch", "*** Update File: f", " line 30", "-lime 31", "+x", "*** End Patch"]
    (patch,) = parse_codex("\n".join(lines))

    with pytest.raises(ToolFailed, match=r"The file has at line 31:\nline 30\nline 31$"):
        locate_hunks(text, patch.hunks, "f")


@pytest.mark.behaviour("edits-are-serialised")
async def test_calls_on_one_file_run_in_order(tmp_path: Path) -> None:
    patches = [f"@@ -1 +1 @@\n-{n}\n+{n + 1}" for n in range(10)]
    blocks = tuple(
        ToolCall(id=f"c{n}", name="edit", arguments={"path": "f", "patch": patch})
        for n, patch in enumerate(patches)
    )
    steps = (Reply(blocks=blocks), says("done"))
    settings = {"edit": {"variant": "patch"}}
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        file = Path(hosted.session.workspace.cwd) / "f"
        file.write_text("0\n")
        await hosted.session.prompt("go")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    assert [m.is_error for m in results] == [False] * 10
    assert file.read_text() == "10\n"
