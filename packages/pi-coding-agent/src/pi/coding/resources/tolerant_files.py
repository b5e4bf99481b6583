"""Access to files and folders of resources: what cannot be read is absent."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

log = logging.getLogger(__name__)

# Files in unreadable folders count as missing: a locked folder must not prevent pi from starting.
# The functions use ``os.path``, because the methods of ``Path`` raise for such files.

MAX_ENTRIES = 10_000
"""Maximum entries of one folder that are read."""
MAX_TREE_ENTRIES = 50_000
"""Maximum entries below one folder that are visited for a pattern."""


def entries_of(folder: Path) -> list[Path]:
    """Return the entries of a folder sorted by name; empty if it is missing or unreadable."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_ENTRIES + 1)]
    except OSError:
        return []
    if len(names) > MAX_ENTRIES:
        log.warning("%s has more than %d entries; the rest is not used", folder, MAX_ENTRIES)
        names.pop()
    return [folder / name for name in sorted(names)]


def walk_below(
    folder: Path, *, enters: Callable[[Path], bool] = lambda path: True
) -> Iterator[Path]:
    """Yield everything below a folder, a folder before its contents.

    ``enters`` returns False for entries to leave out. Links are not followed. After
    ``MAX_TREE_ENTRIES`` entries it ends with a warning: ``folder`` may be a link to the root of the
    file system.
    """
    waiting, count = [folder], 0
    while waiting:
        current = waiting.pop()
        inner: list[Path] = []
        for path in entries_of(current):
            count += 1
            if count > MAX_TREE_ENTRIES:
                log.warning("%s holds more than %d entries", folder, MAX_TREE_ENTRIES)
                return
            if enters(path):
                yield path
                if is_folder(path) and not path.is_symlink():
                    inner.append(path)
        waiting += reversed(inner)


def path_exists(path: Path) -> bool:
    """Whether the path exists and is visible."""
    return os.path.exists(path)  # noqa: PTH110


def existing(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield those of the paths that exist and are visible."""
    return (path for path in paths if path_exists(path))


def is_file(path: Path) -> bool:
    """Whether the path exists, is visible and is not a folder.

    Includes pipes and devices, so that reading them reports an error with the path.
    """
    return path_exists(path) and not is_folder(path)


def is_folder(path: Path) -> bool:
    """Whether the path is a visible folder."""
    return os.path.isdir(path)  # noqa: PTH112


def first_existing(paths: Iterable[Path]) -> Path | None:
    """Return the first of the paths that exists and is visible."""
    return next(existing(paths), None)


def first_file(paths: Iterable[Path]) -> Path | None:
    """Return the first of the paths for which ``is_file`` is true."""
    return next((path for path in paths if is_file(path)), None)


def theme_files(folder: Path) -> Iterator[Path]:
    """Return the theme files of a folder."""
    return (path for path in entries_of(folder) if path.suffix == ".json" and is_file(path))
