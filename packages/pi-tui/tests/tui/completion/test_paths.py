from __future__ import annotations

from pathlib import Path

import pytest

from pi.tui.completion.provider import Completed, Suggestion
from pi.tui.completion.sources import PathProvider, list_directory
from tests.bounded import LoopWatchdog


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("work/src/deep", "work/my dir", "home/.config"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("work/notes.txt", "work/.hidden", "work/src/main.py", "work/my dir/x y.txt"):
        (tmp_path / file).touch()
    (tmp_path / "work/link").symlink_to(tmp_path / "work/src", target_is_directory=True)
    return tmp_path


def provider(project: Path) -> PathProvider:
    return PathProvider(lambda: project / "work", project / "home")


async def values(project: Path, line: str) -> list[str]:
    found = await provider(project).get_suggestions([line], 0, len(line), force=True)
    return [item.value for item in found.items] if found else []


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", ["link/", '"my dir/', "src/", "notes.txt"]),
        ("cat s", ["src/"]),
        ("cat ./s", ["./src/"]),
        ("cat ./src/", ["./src/deep/", "./src/main.py"]),
        ("cat .h", [".hidden"]),
        ("cat link/m", ["link/main.py"]),
        ('cat "my dir/', ['"my dir/x y.txt"']),
        ("cat ../", ["../home/", "../work/"]),
        ("cat ~/.c", ["~/.config/"]),
        ("cat ~/", []),
        ("cat SR", ["src/"]),
        ("cat ntx", ["notes.txt"]),
        ("cat nowhere/x", []),
        ("cat notes.txt/x", []),
    ],
)
async def test_the_typed_directory_is_listed(project: Path, line: str, found: list[str]) -> None:
    assert await values(project, line) == found


async def test_an_absolute_path_is_completed_as_an_absolute_path(project: Path) -> None:
    root = str(project / "work").replace("\\", "/")

    assert await values(project, f"{root}/no") == [f"{root}/notes.txt"]


async def test_paths_are_not_suggested_unless_completion_is_forced(project: Path) -> None:
    assert await provider(project).get_suggestions(["s"], 0, 1, force=False) is None


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize(
    ("line", "col", "prefix", "value", "after", "cursor"),
    [
        ("cat s x", 5, "s", "src/", "cat src/ x", 8),
        ("see @s", 6, "@s", "@src/", "see @src/", 9),
        ("see @n", 6, "@n", "@notes.txt", "see @notes.txt ", 15),
        ('see @"my d', 10, '@"my d', '@"my dir/', 'see @"my dir/', 13),
        ('see @"my f"', 10, '@"my f', '@"my file"', 'see @"my file" ', 15),
        ("cat n", 5, "n", "notes.txt", "cat notes.txt", 13),
    ],
)
def test_a_completed_mention_of_a_file_ends_with_a_space_but_a_directory_does_not(
    line: str, col: int, prefix: str, value: str, after: str, cursor: int
) -> None:
    paths = PathProvider(lambda: Path("w"), Path("h"))

    done = paths.apply_completion([line], 0, col, Suggestion(value=value), prefix)

    assert done == Completed(lines=(after,), row=0, col=cursor)


def test_directories_are_listed_with_a_trailing_slash(project: Path) -> None:
    assert sorted(list_directory(project / "work")) == [
        ".hidden",
        "link/",
        "my dir/",
        "notes.txt",
        "src/",
    ]


@pytest.mark.full
async def test_completing_in_a_huge_directory_does_not_block_the_event_loop(
    tmp_path: Path, watchdog: LoopWatchdog
) -> None:
    names = [f"name{number:06}" for number in range(60_000)]
    provider = PathProvider(lambda: tmp_path, tmp_path, listing=lambda folder: names)

    suggestions = await provider.get_suggestions(["ne5"], 0, 3, force=True)

    assert suggestions is not None
    assert len(suggestions.items) == 200
