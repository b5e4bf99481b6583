"""Sources of resources: places, and documents with front matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.base.errors import PiError
from pi.base.files import expand_home, read_regular
from pi.base.formats import BadFormat, Document, parse_front_matter
from pi.base.records import Record

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
