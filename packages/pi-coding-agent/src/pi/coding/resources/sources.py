"""Sources of resources: places, tolerant access to folders, and documents with front matter."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.base.errors import PiError
from pi.base.files import expand_home, read_regular
from pi.base.formats import BadFormat, Document, parse_front_matter
from pi.base.records import Record

log = logging.getLogger(__name__)


Warn: TypeAlias = Callable[[str], None]
"""Receives a warning with the path of a resource that was not used, and the reason."""

Scope: TypeAlias = Literal["user", "project", "temporary"]


class SourceInfo(Record):
    """Source of a resource. Field names are those of RPC."""

    path: str
    source: str = "auto"
    """``auto`` when it was discovered, ``cli``, ``inline``, ``local``, a package or an agent."""
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"
    base_dir: str | UnsetType = UNSET


INLINE = SourceInfo(path="", source="inline", scope="temporary")
"""Source of resources passed in by a program that embeds pi."""


class Place(Record):
    """A file or folder to search, and the source information of its resources."""

    path: Path
    source: str = "auto"
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"
    prefix: str = ""
    """The name of a plugin, with which the names of its commands begin."""
    base: Path | None = None
    """``baseDir`` of the source information, if it is not the folder: for prompt templates RPC
    names the configuration folder."""

    def info(self, path: Path) -> SourceInfo:
        """Return the source information of a resource at ``path``."""
        return SourceInfo(
            path=str(path),
            source=self.source,
            scope=self.scope,
            origin=self.origin,
            base_dir=str(self.base or self.folder),
        )

    @property
    def folder(self) -> Path:
        """The folder itself, or the folder of a file."""
        return self.path if self.path.is_dir() else self.path.parent


def named_places(paths: Iterable[str], cwd: Path) -> list[Place]:
    """Return the places named on the command line."""
    return [
        Place(path=cwd / expand_home(path, strict=False), source="cli", scope="temporary")
        for path in paths
    ]


Admits: TypeAlias = Callable[[Path, Place], bool]
"""Whether a resource found in a place may be used."""


def admit_all(path: Path, location: Place) -> bool:
    """Admit every resource."""
    return True


# Tolerant access to files and folders -------------------------------------------------------------

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


# Documents ----------------------------------------------------------------------------------------

MAX_FILE_BYTES = 1_000_000
"""Larger files are not texts written for a prompt."""


class BadResource(PiError):
    """A file that cannot be used."""


def parse_document(text: str) -> Document:
    """Parse ``text``. Raises ``BadResource`` if the front matter is broken."""
    try:
        return parse_front_matter(text)
    except BadFormat as error:
        raise BadResource(f"front matter: {error.reason}") from error


def read_document(path: Path) -> Document:
    """Read and parse a file. Raises ``BadResource``."""
    return parse_document(read_text(path))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises ``BadResource`` if it is unreadable or not UTF-8."""
    try:
        data = read_regular(path, max_bytes=MAX_FILE_BYTES)
    except OSError as error:
        raise BadResource(error.strerror or str(error)) from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadResource("the file is not UTF-8 text") from error
