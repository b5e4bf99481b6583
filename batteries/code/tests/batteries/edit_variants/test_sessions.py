"""The variants of ``edit`` in real sessions, with a script as the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.edit_variants.adapter import DESCRIPTIONS, SNIPPETS, extension, preview
from pi.batteries.edit_variants.lines import file_tag, line_hash, without_anchors
from pi.batteries.edit_variants.patches import paths_of
from pi.batteries.edit_variants.views import edit as view
from pi.coding.port.drawing import PlainTheme
from pi.extension import FilePreview, ToolView, ViewOptions
from tests.coding.extension_host.extension_session import FakeUI, extension_session

OLD = "one\ntwo\nthree\nfour\n"


async def results(tmp_path: Path, variant: str, *steps: Step) -> list[tuple[bool, str]]:
    """Whether each call failed, and its text."""
    script = (*steps, says("done"))
    settings = {"edit": {"variant": variant}}
    async with extension_session(tmp_path, extension, steps=script, settings=settings) as hosted:
        folder = Path(hosted.session.workspace.cwd)
        (folder / "f.py").write_text(OLD)
        await hosted.session.prompt("go")
        assert hosted.failures == []
        found = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        declared = next(t for t in hosted.session.tools.listed() if t.name == "edit")
        assert declared.description == DESCRIPTIONS.get(variant, declared.description)
        prompt = str(hosted.fixture.provider.requests[0].messages[0])
        assert ("oldText must be" in prompt) is (variant == "replace")
        assert SNIPPETS.get(variant, "Replace passages of a file") in prompt
    return [
        (m.is_error, "\n".join(p.text for p in m.content if isinstance(p, Text))) for m in found
    ]


def project(tmp_path: Path) -> Path:
    return next(tmp_path.rglob("project"))


def anchor(number: int) -> str:
    return f"{number}:{line_hash(OLD.splitlines()[number - 1])}"


def patch(*lines: str, path: str = "") -> Step:
    return calls("edit", patch="\n".join(lines), **({"path": path} if path else {}))


def codex(*lines: str) -> Step:
    return calls("edit", input="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


async def test_a_unified_diff_changes_creates_and_deletes(tmp_path: Path) -> None:
    ((failed, text),) = await results(
        tmp_path,
        "patch",
        patch(
            *("--- a/f.py", "+++ b/f.py", "@@ -9,3 +9,3 @@ wrong numbers", " two", "-three", "+3"),
            *("--- /dev/null", "+++ b/new/g.py", "@@ -0,0 +1,2 @@", "+a", "+b"),
        ),
    )

    assert not failed
    assert text == "Success. Updated the following files:\nM f.py\nA new/g.py"
    assert (project(tmp_path) / "f.py").read_text() == "one\ntwo\n3\nfour\n"
    assert (project(tmp_path) / "new/g.py").read_text() == "a\nb\n"


async def test_nothing_is_written_if_one_hunk_does_not_fit(tmp_path: Path) -> None:
    first, second = await results(
        tmp_path,
        "patch",
        patch(
            *("--- f.py", "+++ f.py", "@@ -1,1 +1,1 @@", "-one", "+1"),
            *("@@ -3,1 +3,1 @@", "-absent", "+x"),
        ),
        patch("@@ -1 +1 @@", "-one", "+1", path="f.py"),
    )

    assert first == (
        True,
        "Could not find hunk 2 of 2 in f.py. Nothing was changed. The file has at line 3:\nthree",
    )
    assert not second[0]
    assert (project(tmp_path) / "f.py").read_text() == "1\ntwo\nthree\nfour\n"


async def test_a_codex_patch_updates_moves_adds_and_deletes(tmp_path: Path) -> None:
    done, gone, again = await results(
        tmp_path,
        "apply_patch",
        codex(
            *("*** Update File: f.py", "*** Move to: lib/f.py", "@@ two", "-three", "+3"),
            *("*** Add File: g.py", "+new"),
        ),
        codex("*** Delete File: g.py"),
        codex("*** Delete File: g.py"),
    )

    assert done[1] == "Success. Updated the following files:\nM f.py → lib/f.py\nA g.py"
    assert gone[1] == "Success. Updated the following files:\nD g.py"
    assert again == (True, "There is no file g.py to delete. Nothing was changed.")
    folder = project(tmp_path)
    assert (folder / "lib/f.py").read_text() == "one\ntwo\n3\nfour\n"
    assert not (folder / "f.py").exists()
    assert not (folder / "g.py").exists()


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["*** Update File: f.py"], "The update of f.py has no changes."),
        (["*** Update File: f.py", "@@ class X", "-one"], "Could not find 'class X', the @@ line"),
        (["*** Add File: f.py", "+x"], "f.py exists already. Update it instead"),
        (["*** Add File: g.py", "x"], "Lines of the new file g.py must begin with +"),
        (["hello"], "Invalid line 2 of the patch: 'hello'."),
        ([], "The patch changes no file."),
        (["*** Delete File: f.py", "*** Delete File: f.py"], "The patch has two sections for one"),
    ],
)
async def test_invalid_codex_patches_are_rejected(
    tmp_path: Path, lines: list[str], error: str
) -> None:
    ((failed, text),) = await results(tmp_path, "apply_patch", codex(*lines))

    assert failed
    assert text.startswith(error)
    assert (project(tmp_path) / "f.py").read_text() == OLD


async def test_ambiguous_lines_are_rejected(tmp_path: Path) -> None:
    _, (failed, text) = await results(
        tmp_path,
        "apply_patch",
        calls("write", path="f.py", content="a\nx\na\nx\n"),
        codex("*** Update File: f.py", "-x", "+y"),
    )

    assert failed
    assert text.startswith("Found 2 places for hunk 1 of 1 in f.py: lines 2, 4.")


async def test_lines_are_read_with_anchors_and_edited_by_them(tmp_path: Path) -> None:
    shown, part, edited = await results(
        tmp_path,
        "hashline",
        calls("read", path="f.py"),
        calls("read", path="f.py", offset=2, limit=1),
        calls(
            "edit",
            path="f.py",
            edits=[
                {"start": anchor(2), "end": anchor(3), "text": "2\n3\n"},
                {"start": anchor(4), "text": "five", "op": "insert_after"},
            ],
        ),
    )

    lines = [f"{anchor(n)}|{line}" for n, line in enumerate(OLD.splitlines(), 1)]
    assert shown[1].splitlines() == [f"[f.py#{file_tag(OLD)}]", *lines]
    assert part[1].splitlines()[1:] == [
        lines[1],
        "",
        "[3 more lines in file. Use offset=3 to continue.]",
    ]
    new = "one\n2\n3\nfour\nfive\n"
    assert (project(tmp_path) / "f.py").read_text() == new
    assert edited[1].startswith(
        f"[f.py#{file_tag(new)}]\nSuccessfully changed 2 place(s) in f.py.\nThe lines are now:\n"
    )


async def test_long_files_and_lines_in_brackets_are_read_with_anchors(tmp_path: Path) -> None:
    long = "".join(f"line {n}\n" for n in range(3000))
    _, shown, _, odd = await results(
        tmp_path,
        "hashline",
        calls("write", path="long.txt", content=long),
        calls("read", path="long.txt"),
        calls("write", path="odd.txt", content="a\n\n[1 note]"),
        calls("read", path="odd.txt"),
    )

    lines = shown[1].splitlines()
    assert lines[1] == f"1:{line_hash('line 0')}|line 0"
    assert lines[2000] == f"2000:{line_hash('line 1999')}|line 1999"
    assert lines[-1].startswith("[Showing lines 1-2000 of 3")
    assert odd[1].splitlines()[-1] == f"3:{line_hash('[1 note]')}|[1 note]"


async def test_stale_anchors_are_refused_with_the_fresh_lines(tmp_path: Path) -> None:
    _, (failed, text) = await results(
        tmp_path,
        "hashline",
        calls("bash", command="printf 'zero\\none\\nTWO\\n' > f.py"),
        calls("edit", path="f.py", edits=[{"start": anchor(1), "text": "1"}]),
    )

    assert failed
    assert text.splitlines() == [
        f"Stale anchors in f.py: {anchor(1)}. The lines have changed, or never had them."
        " Nothing was changed. The lines are now:",
        f"1:{line_hash('zero')}|zero",
        f"2:{line_hash('one')}|one",
        f"3:{line_hash('TWO')}|TWO",
        f"[{anchor(1)} is now 2:{line_hash('one')}]",
    ]


async def test_a_written_file_can_be_edited_by_its_tag_and_plain_numbers(tmp_path: Path) -> None:
    content = f"[f.py#0000]\n{anchor(1)}|uno\n{anchor(2)}|due\n"
    tag = file_tag("uno\ndue\n")
    written, edited, stale = await results(
        tmp_path,
        "hashline",
        calls("write", path="f.py", content=content),
        calls("edit", path="f.py", tag=tag, edits=[{"start": "2", "text": "DUE"}]),
        calls("edit", path="f.py", tag=tag, edits=[{"start": "2", "text": "x"}]),
    )

    assert written[1].splitlines() == [
        f"[f.py#{tag}]",
        "Successfully wrote to f.py",
        "Note: anchors copied from read were removed from the content.",
    ]
    assert not edited[0]
    assert (project(tmp_path) / "f.py").read_text() == "uno\nDUE\n"
    assert stale[0]
    assert stale[1].startswith("Stale anchors in f.py: 2. The file has changed.")


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        ([{"start": "x", "text": ""}], "Invalid anchor 'x'."),
        ([], "Edit tool input is invalid."),
        (
            [{"start": anchor(1), "text": "a"}, {"start": anchor(1), "text": "b"}],
            "Two edits of f.py change line 1.",
        ),
        ([{"start": anchor(3), "end": anchor(1), "text": "b"}], "The end '1:"),
        ([{"start": "99:aaa", "text": "b"}], "Stale anchors in f.py: 99:aaa."),
    ],
)
async def test_invalid_anchors_are_rejected(tmp_path: Path, edits: Any, error: str) -> None:
    ((failed, text),) = await results(tmp_path, "hashline", calls("edit", path="f.py", edits=edits))

    assert failed
    assert text.startswith(error)
    assert (project(tmp_path) / "f.py").read_text() == OLD


async def test_the_default_is_the_built_in_edit_tool(tmp_path: Path) -> None:
    edits = [{"oldText": "two", "newText": "2"}]
    ((failed, text),) = await results(tmp_path, "replace", calls("edit", path="f.py", edits=edits))

    assert (failed, text) == (False, "Successfully replaced 1 block(s) in f.py.")


async def test_the_variable_wins_and_an_unknown_variant_is_reported(tmp_path: Path) -> None:
    for value, expected in (("patch", DESCRIPTIONS["patch"]), ("other", "Change parts of a file")):
        ui = FakeUI()
        async with extension_session(
            tmp_path / value,
            extension,
            settings={"edit": {"variant": "hashline"}},
            environ={"PI_EDIT_VARIANT": value},
            ui=ui,
        ) as hosted:
            declared = next(t for t in hosted.session.tools.listed() if t.name == "edit")

            assert declared.description.startswith(expected)
            notices = [seen for seen in ui.seen if "Unknown edit variant 'other'" in str(seen)]
            assert bool(notices) is (value == "other")


def test_texts_without_anchors_are_kept() -> None:
    for text in ("a\nb\n", "1:abc|x\nplain\n", "", "[a#b]\n"):
        assert without_anchors(text) == text


def test_the_files_and_lines_of_a_call_are_parsed_while_it_streams() -> None:
    patch = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+ne"

    assert paths_of({"patch": patch}) == ["x.py"]
    assert preview({"patch": patch}) == FilePreview(path="x.py", added="ne", removed="old")
    assert preview({"input": "*** Begin Patch\n*** Add File: y\n+a"}) == FilePreview(
        path="y", added="a"
    )
    assert preview({}) is None


def test_the_view_is_collapsed_and_expanded() -> None:
    diff = "\n".join(f"+{n} line" for n in range(30))
    call = ToolView(
        id="1", name="edit", arguments={"path": "f.py"}, state="done", details={"diff": diff}
    )
    collapsed = view(call, ViewOptions(), PlainTheme())
    expanded = view(call, ViewOptions(expanded=True), PlainTheme())

    assert collapsed is not None
    assert expanded is not None
    assert (collapsed[0], collapsed[-1]) == ("f.py", "… 14 more lines")
    assert len(expanded) == 31
