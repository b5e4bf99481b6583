"""Where a resource comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from pi.base.files import expand_home
from pi.base.records import UNSET, Record, UnsetType

Warn: TypeAlias = Callable[[str], None]
"""Told what could not be used, with its path and the reason."""

Scope: TypeAlias = Literal["user", "project", "temporary"]


class SourceInfo(Record):
    """In the JSON names of RPC."""

    path: str
    source: str = "auto"
    """``auto`` when it was discovered, ``cli``, ``inline``, ``local`` or a package."""
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"
    base_dir: str | UnsetType = UNSET


INLINE = SourceInfo(path="", source="inline", scope="temporary")
"""What a program that embeds pi has made itself."""


class Place(Record):
    """A file or folder to look at, and what is said of everything that is found there."""

    path: Path
    source: str = "auto"
    scope: Scope = "user"
    origin: Literal["top-level", "package"] = "top-level"

    def info(self, path: Path) -> SourceInfo:
        """The source of something that was found at ``path``."""
        return SourceInfo(
            path=str(path),
            source=self.source,
            scope=self.scope,
            origin=self.origin,
            base_dir=str(self.folder),
        )

    @property
    def folder(self) -> Path:
        """The folder that is looked at; that of a file is the one that it is in."""
        return self.path if self.path.is_dir() else self.path.parent


def named_places(paths: Iterable[str], cwd: Path) -> list[Place]:
    """What the command line names."""
    return [
        Place(path=cwd / expand_home(path, strict=False), source="cli", scope="temporary")
        for path in paths
    ]


Admits: TypeAlias = Callable[[Path, Place], bool]
"""Whether something that was found in a place may be used."""


def everything(path: Path, place: Place) -> bool:
    """Admits all."""
    return True
