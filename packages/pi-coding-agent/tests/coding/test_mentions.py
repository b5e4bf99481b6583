from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.mentions import (
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    attachments,
    find_mentions,
    with_chips,
    without_attachments,
)
from pi.coding.tools.images import ImageLimits


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see @a.py and @b/c.py", ["a.py", "b/c.py"]),
        ("ada@example.com", []),
        ("(@a.py)", []),
        ('@"a b.py" twice @"a b.py"', ["a b.py"]),
        ("@", []),
        ("line\n@x\n", ["x"]),
    ],
)
def test_mentions_are_found_at_the_start_of_a_word(text: str, names: list[str]) -> None:
    assert find_mentions(text) == names


def found(text: str, cwd: Path) -> list[tuple[str, str]]:
    made = attachments(text, cwd=cwd, home=cwd / "home", limits=ImageLimits())
    return [(attachment.path, attachment.chip) for attachment in made]


def test_mentions_of_missing_files_attach_nothing(tmp_path: Path) -> None:
    assert found("@nothing @none*.py @" + "x" * 5000, tmp_path) == []


def test_trailing_punctuation_is_part_of_a_mention_only_if_such_a_file_exists(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.py").write_text("1\n2\n3")
    (tmp_path / "odd.").write_text("1")

    assert found("@a.py, @a.py. @odd.", tmp_path) == [
        ("a.py", "3 lines"),
        ("a.py", "3 lines"),
        ("odd.", "1 line"),
    ]


def test_a_pattern_attaches_a_list_of_matching_files(tmp_path: Path) -> None:
    for name in ("a/x.py", "a/b/y.py", "z.py", "node_modules/m.py", "a/t.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    every, flat, braces = attachments(
        "@**/*.py @a/*.py @a/*.{py,txt}", cwd=tmp_path, home=tmp_path, limits=ImageLimits()
    )

    assert every.text.split("\n")[1:-2] == ["z.py", "a/x.py", "a/b/y.py"]
    assert flat.text.split("\n")[1:-2] == ["a/x.py"]
    assert braces.chip == "2 entries"


def test_a_long_list_of_entries_is_truncated(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 5):
        (tmp_path / f"{number}.txt").write_text("")

    [made] = attachments("@.", cwd=tmp_path, home=tmp_path, limits=ImageLimits())

    assert made.chip == f"{MAX_ENTRIES}+ entries"
    assert made.text.endswith("… and more\n</file>\n")


def test_attachments_of_a_prompt_have_a_total_size_limit(tmp_path: Path) -> None:
    for name in "abcdef":
        (tmp_path / name).write_text("x" * (MAX_FILE_BYTES - 100))

    chips = [chip for _, chip in found("@a @b @c @d @e @f", tmp_path)]

    assert chips == ["1 line"] * 4 + ["not attached"] * 2


def test_the_typed_text_is_restored_from_a_message_with_attachments() -> None:
    message = '<file name="/p/src/a.py">\n1\n2\n</file>\nsee @src/a.py.'

    assert without_attachments(message) == "see @src/a.py."
    assert with_chips(message) == "see @src/a.py [2 lines]."


@pytest.mark.parametrize("text", ["plain", '<file name="/p/a.py">\n1\n</file>\nexplain', "<file"])
def test_file_blocks_without_a_mention_are_kept(text: str) -> None:
    assert without_attachments(text) == text
    assert with_chips(text) is None
