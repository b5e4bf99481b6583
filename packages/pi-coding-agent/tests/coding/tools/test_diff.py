from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.tools.diff import Diff

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30).map("\n".join)


def numbered(count: int, **changed: str) -> str:
    return "".join(f"{changed.get(f'l{n}', f'L{n}')}\n" for n in range(1, count + 1))


def test_changes_are_shown_with_four_lines_around_them() -> None:
    diff = Diff(numbered(30), numbered(30, l10="TEN", l25="NEW\nLINE"))

    assert diff.first_changed_line == 10
    assert diff.display() == "\n".join(
        [
            "    ...",
            *[f" {n:>2} L{n}" for n in range(6, 10)],
            "-10 L10",
            "+10 TEN",
            *[f" {n} L{n}" for n in range(11, 15)],
            "    ...",
            *[f" {n} L{n}" for n in range(21, 25)],
            "-25 L25",
            "+25 NEW",
            "+26 LINE",
            *[f" {n} L{n}" for n in range(26, 30)],
            "    ...",
        ]
    )


def test_near_changes_are_shown_together() -> None:
    diff = Diff(numbered(12), numbered(12, l2="x", l10="y"))

    assert "..." not in diff.display()
    assert diff.patch("p").count("@@ -") == 1


def test_a_text_without_changes_has_no_diff() -> None:
    diff = Diff("a\n", "a\n")

    assert (diff.display(), diff.changes, diff.first_changed_line) == ("", [], None)


def test_a_missing_final_newline_is_noted_in_the_patch() -> None:
    assert Diff("a\nb", "a\nc\n").patch("p") == (
        "--- p\n+++ p\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )


def test_patches_of_empty_files_have_the_usual_line_numbers() -> None:
    assert Diff("", "a\n").patch("p") == "--- p\n+++ p\n@@ -0,0 +1,1 @@\n+a\n"
    assert Diff("a\n", "").patch("p") == "--- p\n+++ p\n@@ -1,1 +0,0 @@\n-a\n"


def test_a_large_file_with_one_change_is_compared_at_once() -> None:
    old = "".join(f"line {n}\n" for n in range(100_000))

    diff = Diff(old, old.replace("line 50000\n", "changed\n"))

    assert diff.changes == [(50_000, 50_001, 50_000, 50_001)]


def test_changes_at_both_ends_of_a_large_file_are_all_that_is_shown() -> None:
    body = "".join(f"line {n}\n\n" for n in range(20_000))

    diff = Diff(f"first\n{body}last\n", f"FIRST\n{body}LAST\nand more\n")

    assert diff.changes == [(0, 1, 0, 1), (40_001, 40_002, 40_001, 40_003)]


@given(st.data())
def test_the_changes_of_a_long_text_turn_the_old_text_into_the_new(data: st.DataObject) -> None:
    lines = [f"line {n}" if n % 3 else "}" for n in range(2100)]
    new = ["begun", *lines, "ended"]
    for _ in range(data.draw(st.integers(0, 6))):
        index = data.draw(st.integers(0, len(new) - 1))
        new[index : index + data.draw(st.integers(0, 4))] = data.draw(
            st.lists(st.sampled_from(["}", "x", "line 7", "line 2000"]), max_size=4)
        )

    diff = Diff("\n".join(lines), "\n".join(new))

    made, done = list[str](), 0
    for change in diff.changes:
        made += lines[done : change.old_start] + new[change.new_start : change.new_end]
        done = change.old_end
    assert made + lines[done:] == new
    assert sum(change.old_end - change.old_start for change in diff.changes) < 200


def test_the_comparison_of_a_long_text_is_limited() -> None:
    lines = [f"line {n}" for n in range(1600)]
    old, new = list[str](), list[str]()
    for number in range(3):
        old += [f"mark {number}", "x", *lines, "x"]
        new += [f"mark {number}", "y", *lines, "y"]

    diff = Diff("\n".join(old), "\n".join(new))

    assert diff.changes == [
        (1, 2, 1, 2),
        (1602, 1603, 1602, 1603),
        (1604, 3206, 1604, 3206),
        (3207, 4809, 3207, 4809),
    ]


def test_only_the_differences_of_a_long_passage_between_unique_lines_are_shown() -> None:
    middle = ["mark", *["same"] * 3000, "end"]

    diff = Diff(
        "\n".join(["a", *middle, "b"]), "\n".join(["A", *middle[:9], "new", *middle[9:], "B"])
    )

    assert diff.changes == [(0, 1, 0, 1), (10, 10, 10, 11), (3003, 3004, 3004, 3005)]


def test_lines_that_become_unique_one_after_the_other_need_no_recursion() -> None:
    size = 3000
    old = "".join(f"line {n + 1}\nline {n}\n" for n in range(size))
    new = "".join(f"new {n}\nline {n}\n" for n in range(size))

    assert Diff(old, new).changes


def test_texts_that_differ_everywhere_are_replaced_as_a_whole() -> None:
    old, new = "a\n" * 3000 + "x\n", "b\n" * 3000 + "y\n"

    assert Diff(old, new).changes == [(0, 3001, 0, 3001)]


@pytest.mark.slow
@given(TEXTS, TEXTS)
def test_the_patch_program_turns_the_old_text_into_the_new(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str
) -> None:
    patch = shutil.which("patch") or pytest.skip("patch is not installed; not tested: patches")
    if old == new:
        return
    folder: Path = tmp_path_factory.mktemp("patch")
    (folder / "f").write_text(old)
    result = subprocess.run(
        [patch, "-s", "f"], cwd=folder, input=Diff(old, new).patch("f"), text=True, check=False,
        capture_output=True,
    )  # fmt: skip

    assert result.returncode == 0, result.stdout
    made = (folder / "f").read_text() if (folder / "f").exists() else ""
    assert made == new


def test_the_display_of_a_huge_change_is_cut() -> None:
    line = Diff("x" * 3_000_000, "y" * 3_000_000).display()
    lines = Diff("", "word\n" * 400_000).display()

    assert [len(part) for part in line.split("\n")] == [10_004, 10_004]
    assert len(lines) < 5_000_000
    assert lines.endswith(" ...")
