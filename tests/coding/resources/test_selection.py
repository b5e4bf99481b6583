"""Lists of paths in settings."""

from __future__ import annotations

from pathlib import Path

from pi.coding.resources.selection import Selection

BASE = Path("/base")


def test_entries_are_sorted_by_their_first_character() -> None:
    selection = Selection.of(["more", "/abs", "!drafts/*", "+drafts/good.md", "-old.md"], BASE)

    assert selection == Selection(
        paths=(BASE / "more", Path("/abs")),
        forced=(BASE / "drafts" / "good.md",),
        without=(BASE / "old.md",),
        patterns=("drafts/*",),
    )


def test_what_is_left_out_and_what_comes_back() -> None:
    selection = Selection.of(["!drafts/*", "+drafts/good.md", "-old.md"], BASE)
    admitted = [
        selection.admits(BASE / name, BASE)
        for name in ("fine.md", "drafts/x.md", "drafts/good.md", "old.md")
    ]

    assert admitted == [True, False, True, False]
