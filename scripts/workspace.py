"""Where the packages of this checkout are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def members(root: Path) -> list[Path]:
    """The folders of all distributions, and the checkout itself."""
    projects = sorted(
        [*root.glob("packages/*/pyproject.toml"), *root.glob("batteries/*/pyproject.toml")]
    )
    return [root, *(project.parent for project in projects)]


def sources(root: Path) -> list[Path]:
    """The folders that are on the import path."""
    return [folder for member in members(root) if (folder := member / "src").is_dir()]


def source_files(root: Path, pattern: str = "*.py") -> Iterator[Path]:
    """The files of all packages whose names match, in the order of packages."""
    for source in sources(root):
        yield from sorted(source.rglob(pattern))


def below_pi(path: Path) -> Path:
    """The path of a source file below the folder of the namespace ``pi``."""
    parts = path.parts
    return Path(*parts[max(i for i, part in enumerate(parts) if part == "src") + 2 :])


def battery_manifests(root: Path) -> list[Path]:
    """The manifests of the bundled extensions."""
    return sorted(path for path in source_files(root, "pi.toml") if "batteries" in path.parts)


def folders_of_tests(root: Path) -> list[Path]:
    """All folders of tests."""
    return [folder for member in members(root) if (folder := member / "tests").is_dir()]


def modules_of_tests(root: Path) -> list[Path]:
    """All modules of tests."""
    return sorted(path for folder in folders_of_tests(root) for path in folder.rglob("test_*.py"))
