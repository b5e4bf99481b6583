"""Looking at folders of which it is not known whether they are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def entries_of(folder: Path) -> list[Path]:
    """What lies in a folder, in the order of names; nothing where there is none to look at."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def theme_files(folder: Path) -> Iterator[Path]:
    """The themes of a folder."""
    return (path for path in entries_of(folder) if path.suffix == ".json" and path.is_file())


def repository_of(folder: Path) -> Path | None:
    """The folder at or above ``folder`` that is a git repository."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
