"""Looking at folders of which it is not known whether they are there, or may be entered.

What lies in a folder that is locked is not there: it must not keep anybody from starting. The
methods of ``Path`` raise there, the functions of ``os.path`` do not.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

log = logging.getLogger(__name__)

MOST_ENTRIES = 10_000
"""Names of one folder that are looked at."""
MOST_BELOW = 50_000
"""Names of all folders below one that are looked at for a pattern."""


def entries_of(folder: Path) -> list[Path]:
    """What lies in a folder, in the order of names; nothing where there is none to look at."""
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in islice(found, MOST_ENTRIES + 1)]
    except OSError:
        return []
    if len(names) > MOST_ENTRIES:
        log.warning("%s has more than %d entries; the rest is not used", folder, MOST_ENTRIES)
        names.pop()
    return [folder / name for name in sorted(names)]


def below(folder: Path, *, enters: Callable[[Path], bool] = lambda path: True) -> Iterator[Path]:
    """What lies in a folder and those below it, a folder before what is in it.

    Links are not followed, and after ``MOST_BELOW`` entries it ends with a warning: a link to the
    root of the file system may stand where a small folder is expected.
    """
    waiting, count = [folder], 0
    while waiting:
        here = waiting.pop()
        inner: list[Path] = []
        for path in entries_of(here):
            count += 1
            if count > MOST_BELOW:
                log.warning("%s holds more than %d entries", folder, MOST_BELOW)
                return
            if enters(path):
                yield path
                if is_folder(path) and not path.is_symlink():
                    inner.append(path)
        waiting += reversed(inner)


def is_there(path: Path) -> bool:
    """Whether there is something that may be seen."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Whether there is something that may be seen and is no folder.

    A pipe or a device counts, so that whoever reads it gets an error and can name it.
    """
    return is_there(path) and not is_folder(path)


def is_folder(path: Path) -> bool:
    """Whether there is a folder that may be seen."""
    return os.path.isdir(path)  # noqa: PTH112


def theme_files(folder: Path) -> Iterator[Path]:
    """The themes of a folder."""
    return (path for path in entries_of(folder) if path.suffix == ".json" and is_file(path))


def repository_of(folder: Path) -> Path | None:
    """The folder at or above ``folder`` that is a git repository."""
    return next((each for each in (folder, *folder.parents) if is_there(each / ".git")), None)
