"""Lists of paths in settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.discovery import Selection
from pi.coding.resources.sources import Place

BASE = Path("/base")


def test_entries_are_classified_by_their_first_character() -> None:
    selection = Selection.of(["more", "/abs", "!drafts/*", "+drafts/good.md", "-old.md"], BASE)

    assert selection == Selection(
        base=BASE,
        paths=(BASE / "more", Path("/abs")),
        forced=(BASE / "drafts" / "good.md",),
        without=(BASE / "old.md",),
        patterns=("drafts/*",),
    )


def test_a_pattern_selects_existing_paths(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.md", "[odd]"):
        (tmp_path / "more" / name).mkdir(parents=True)

    selection = Selection.of(["more/*.py", "nothing/*", "more/[odd]"], tmp_path)

    assert [path.name for path in selection.paths] == ["a.py", "b.py", "[odd]"]


def test_excluded_and_forced_paths_are_respected() -> None:
    selection = Selection.of(["!drafts/*", "+drafts/good.md", "-old.md"], BASE)
    admitted = [
        selection.admits(BASE / name, BASE)
        for name in ("fine.md", "drafts/x.md", "drafts/good.md", "old.md")
    ]

    assert admitted == [True, False, True, False]


@pytest.mark.parametrize(
    ("pattern", "leaves_out"),
    [
        ("drafts", True),
        ("drafts/*", True),
        ("./skills/drafts/", True),
        ("skills/**", True),
        ("SKILL.md", True),
        ("/base/skills/*/b", True),
        ("drafts/c*", False),
        ("rafts/b", False),
        ("skills/*.md", False),
    ],
)
def test_an_exclusion_may_name_any_whole_part_of_a_path(pattern: str, leaves_out: bool) -> None:
    path = BASE / "skills" / "drafts" / "b" / "SKILL.md"

    admitted = Selection.of([f"!{pattern}"], BASE).admits(path, BASE / "skills")

    assert admitted is not leaves_out


def test_listed_and_forced_paths_are_searched() -> None:
    selection = Selection.of(["more", "!drafts/*", "+drafts/good.md", "-old.md"], BASE)

    assert selection.places("project") == (
        Place(path=BASE / "more", source="local", scope="project"),
        Place(path=BASE / "drafts" / "good.md", source="local", scope="project"),
    )
