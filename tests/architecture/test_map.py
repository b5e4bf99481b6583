from __future__ import annotations

import re
from pathlib import Path

from scripts.workspace import sources

ROW = re.compile(r"^\| `(pi(?:\.[a-z_]+)+)` \|", re.MULTILINE)
FILE = re.compile(r"`([a-z_/]+/[a-z_]+\.py)`")


def mapped(architecture: str) -> list[str]:
    return ROW.findall(architecture)


def packages(source: Path) -> list[str]:
    """Return every package below pi, and the top-level modules of pi."""
    found = [
        ".".join(init.parent.relative_to(source).parts)
        for init in source.rglob("__init__.py")
        if init.parent != source / "pi"
    ]
    found += [f"pi.{module.stem}" for module in (source / "pi").glob("[a-z]*.py")]
    return found


def test_the_map_shows_every_package_and_nothing_else(root: Path) -> None:
    shown = mapped((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))

    assert sorted(shown) == sorted(
        package for source in sources(root) for package in packages(source)
    )


def test_a_package_that_is_not_on_the_map_is_noticed(tmp_path: Path) -> None:
    for package in ("pi", "pi/base", "pi/lost"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()

    missing = set(packages(tmp_path)) - set(mapped("| `pi.base` | what everything stands on |"))

    assert missing == {"pi.lost"}


def test_every_file_named_in_the_architecture_page_exists(root: Path) -> None:
    named = FILE.findall((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    packages_of_pi = [source / "pi" for source in sources(root)]
    folders = (root, *packages_of_pi, *(package / "coding" for package in packages_of_pi))

    assert [
        file for file in named if not any((folder / file).is_file() for folder in folders)
    ] == []
    assert named
