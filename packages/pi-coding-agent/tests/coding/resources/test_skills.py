"""Skills on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.skills import FoundSkill, find_skills
from pi.coding.resources.sources import Place
from tests.coding.files.unprivileged import locked_folder


def put(path: Path, text: str = "---\ndescription: Does it.\n---\nBody") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(*roots: Path) -> tuple[tuple[FoundSkill, ...], list[str]]:
    warnings: list[str] = []
    return find_skills([Place(path=root) for root in roots], warnings.append), warnings


def names(*roots: Path) -> list[str]:
    return [found_skill.skill.name for found_skill in found(*roots)[0]]


def test_folders_and_loose_files_are_skills_in_the_order_of_names(tmp_path: Path) -> None:
    put(tmp_path / "b" / "SKILL.md", "---\nname: named\ndescription: d\n---\n")
    put(tmp_path / "deep" / "er" / "SKILL.md")
    put(tmp_path / "loose.md")

    assert names(tmp_path) == ["loose", "named", "er"]


@pytest.mark.behaviour("skill-discovery")
def test_nested_skills_and_dependencies_are_not_searched(tmp_path: Path) -> None:
    put(tmp_path / "one" / "SKILL.md")
    put(tmp_path / "one" / "examples" / "SKILL.md")
    put(tmp_path / "node_modules" / "x" / "SKILL.md")
    put(tmp_path / ".hidden" / "SKILL.md")
    put(tmp_path / "README.md", "About this folder.")
    skills, warnings = found(tmp_path)

    assert ([found_skill.skill.name for found_skill in skills], warnings) == (["one"], [])


@pytest.mark.behaviour("skill-discovery")
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".fdignore"])
def test_ignore_files_are_respected_from_the_root_of_the_search_on(
    tmp_path: Path, name: str
) -> None:
    root = tmp_path / "skills"
    for path in ("a", "drafts/b", "deep/c", "deep/d", "deep/er/e"):
        put(root / path / "SKILL.md")
    put(root / "loose.md")
    put(root / "old.md")
    put(root / name, "drafts/\n/deep/d\nold.md\n")
    put(root / "deep" / name, "er\n")
    put(tmp_path / name, "*\n")  # as that which keeps installed packages out of the history

    assert names(root) == ["loose", "a", "c"]


@pytest.mark.behaviour("skill-discovery")
def test_a_skill_reached_twice_is_found_once_and_circular_links_end(tmp_path: Path) -> None:
    put(tmp_path / "real" / "one" / "SKILL.md")
    (tmp_path / "real" / "circle").symlink_to(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert names(tmp_path / "real", tmp_path / "link") == ["one"]


def test_the_first_of_two_skills_with_one_name_is_used(tmp_path: Path) -> None:
    put(tmp_path / "a" / "same" / "SKILL.md")
    put(tmp_path / "b" / "same" / "SKILL.md")
    skills, warnings = found(tmp_path / "a", tmp_path / "b")

    assert [found_skill.skill.location for found_skill in skills] == [
        str(tmp_path / "a" / "same" / "SKILL.md")
    ]
    assert "is hidden by" in warnings[0]


@pytest.mark.behaviour("frontmatter-is-never-silent")
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("no description", "description is required"),
        ("---\na: [\nno field\n---\n", "line 3 is not `name: value`"),
        ("---\nname: Bad Name\ndescription: d\n---\n", "should be a-z, 0-9 and single hyphens"),
    ],
)
def test_a_broken_skill_is_a_warning(tmp_path: Path, text: str, warning: str) -> None:
    put(tmp_path / "x" / "SKILL.md", text)

    assert warning in found(tmp_path)[1][0]


def test_a_skill_has_its_location_and_its_model_invocation_flag(tmp_path: Path) -> None:
    path = put(
        tmp_path / "x" / "SKILL.md",
        "---\ndescription: d\ndisable-model-invocation: true\n---\nDo it.",
    )
    [found_skill] = found(tmp_path)[0]

    assert (found_skill.skill.location, found_skill.skill.content) == (str(path), "Do it.")
    assert found_skill.skill.disable_model_invocation
    assert (found_skill.source.path, found_skill.source.scope, found_skill.source.base_dir) == (
        str(path),
        "user",
        str(tmp_path),
    )


def test_a_search_path_may_be_a_skill_folder_a_file_or_missing(tmp_path: Path) -> None:
    folder = put(tmp_path / "x" / "SKILL.md").parent
    file = put(tmp_path / "y.md")

    assert names(folder, file, tmp_path / "none") == ["x", "y"]


def test_a_locked_folder_hides_no_other_skill() -> None:
    with locked_folder() as locked:
        put(locked.with_name("open") / "SKILL.md")

        assert names(locked.parent, locked, locked / "skills") == ["open"]
