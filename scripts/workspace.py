"""Where the packages of this checkout are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""This checkout."""


def members(root: Path) -> list[Path]:
    """The folders of all distributions, and the checkout itself."""
    projects = sorted(
        [*root.glob("packages/*/pyproject.toml"), *root.glob("batteries/*/pyproject.toml")]
    )
    # The checkout is the last: folders with nothing but compiled files may be left in it.
    return [*(project.parent for project in projects), root]


def integrations(root: Path) -> list[Path]:
    """The folders of the distributions for other programs, which no installation of pi has."""
    return sorted(project.parent for project in root.glob("integrations/*/pyproject.toml"))


def sources(root: Path) -> list[Path]:
    """The folders that are on the import path."""
    # Not of the checkout itself: compiled files of an older one may be left in its ``src``.
    packages = members(root)[:-1]
    return [folder for package in packages if (folder := package / "src").is_dir()]


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
    folders = [*members(root), *integrations(root)]
    return [folder for member in folders if (folder := member / "tests").is_dir()]


def folders_of_examples(root: Path) -> list[Path]:
    """All folders of examples."""
    return [folder for member in members(root) if (folder := member / "examples").is_dir()]


def find_source(root: Path, name: str) -> Path:
    """A file or folder below the namespace ``pi``."""
    return next(path for folder in sources(root) if (path := folder / "pi" / name).exists())


def find_test(root: Path, name: str) -> Path:
    """A file or folder below ``tests``."""
    return next(path for folder in folders_of_tests(root) if (path := folder / name).exists())


def find_example(root: Path, name: str) -> Path:
    """A file or folder below ``examples``."""
    return next(path for folder in folders_of_examples(root) if (path := folder / name).exists())


def import_path(root: Path) -> str:
    """The ``PYTHONPATH`` of programs that import sources and tests."""
    return os.pathsep.join(map(str, [*sources(root), *members(root)]))


def modules_of_tests(root: Path) -> list[Path]:
    """All modules of tests."""
    return sorted(path for folder in folders_of_tests(root) for path in folder.rglob("test_*.py"))


def link_sources(root: Path, packages: Path) -> None:
    """Link every package of pi into a folder of libraries, as if pi were installed there."""
    for source in sources(root):
        for path in (*(source / "pi").iterdir(), *(source / "pi").glob("batteries/*")):
            if path.name not in ("batteries", "__pycache__"):
                link = packages / path.relative_to(source)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
