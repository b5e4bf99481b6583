"""Looking at folders of which it is not known whether they are there, or may be entered.

What lies in a folder that is locked is not there: it must not keep anybody from starting. The
methods of ``Path`` raise there, the functions of ``os.path`` do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def entries_of(folder: Path) -> list[Path]:
    """What lies in a folder, in the order of names; nothing where there is none to look at."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def is_there(path: Path) -> bool:
    """Whether there is something that may be seen."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Whether there is a file that may be seen."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether there is a folder that may be seen."""
    return os.path.isdir(path)  # noqa: PTH112


def theme_files(folder: Path) -> Iterator[Path]:
    """The themes of a folder."""
    return (path for path in entries_of(folder) if path.suffix == ".json" and is_file(path))


def repository_of(folder: Path) -> Path | None:
    """The folder at or above ``folder`` that is a git repository."""
    return next((each for each in (folder, *folder.parents) if is_there(each / ".git")), None)
