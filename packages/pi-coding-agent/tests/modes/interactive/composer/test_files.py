from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pi.base.processes import SpawnFailed
from pi.modes.interactive.composer.completion import FRESH_SECONDS, ProjectFiles


async def test_files_are_listed_again_when_the_list_is_old_or_the_folder_another() -> None:
    roots: list[Path] = []
    now, cwd = [0.0], [Path("/a")]

    async def below(root: Path) -> Sequence[str]:
        roots.append(root)
        return [f"{root.name}.txt"]

    files = ProjectFiles(below, lambda: cwd[0], lambda: now[0])

    assert await files("x") == ["a.txt"]
    assert await files("xy") == ["a.txt"]
    assert roots == [Path("/a")]
    now[0] = FRESH_SECONDS + 1
    await files("x")
    cwd[0] = Path("/b")
    assert await files("x") == ["b.txt"]
    assert roots == [Path("/a"), Path("/a"), Path("/b")]


async def test_a_folder_that_cannot_be_listed_offers_nothing() -> None:
    async def below(root: Path) -> Sequence[str]:
        raise SpawnFailed(f"Cannot start rg: the working directory {root} does not exist.")

    files = ProjectFiles(below, lambda: Path("/gone"), lambda: 0.0)

    assert await files("x") == ()


async def test_files_are_sorted_by_depth_with_hidden_ones_last_and_then_by_name() -> None:
    async def below(root: Path) -> Sequence[str]:
        return ["src/b.py", ".hidden", "src/sub/a.py", "README.md", "src/", "b.txt", "src/A.py"]

    files = ProjectFiles(below, lambda: Path("/a"), lambda: 0.0)

    assert await files("") == [
        "b.txt",
        "README.md",
        "src/",
        ".hidden",
        "src/A.py",
        "src/b.py",
        "src/sub/a.py",
    ]
