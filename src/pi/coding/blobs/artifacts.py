"""Artifacts: the whole of an output of which the model saw a part, by a number of the session."""

from __future__ import annotations

import re
from pathlib import Path

from pi.base.records import Record
from pi.coding.blobs.folder import TextFolder

_NAME = r"(?s)([0-9]+)\..*\.log"


class Artifact(Record):
    """A file that is to hold an artifact, and its number as text."""

    id: str
    path: Path


class Artifacts:
    """The artifacts of one session, and of those that work for it: ``<number>.<kind>.log``.

    Numbers go on after those that there are, so that a resumed session overwrites nothing.
    """

    def __init__(self, folder: TextFolder) -> None:
        self.folder = folder
        self._next: int | None = None

    def save(self, kind: str, text: str) -> str:
        """Keep a text; its number, as ``artifact://`` wants it. ``kind`` is what made the text."""
        name = self._new_name(kind)
        self.folder.write(name, text)
        return name.partition(".")[0]

    def allocate(self, kind: str) -> Artifact | None:
        """A number, and the file that the caller is to make; ``None`` if there is no directory."""
        if (directory := self.folder.make()) is None:
            return None
        name = self._new_name(kind)
        return Artifact(id=name.partition(".")[0], path=directory / name)

    def read(self, number: int) -> str | None:
        """The text of an artifact; ``None`` if there is none of that number."""
        name = self._names().get(number)
        return None if name is None else self.folder.read(name)

    def path(self, number: int) -> Path | None:
        """The file of an artifact; ``None`` if it is in memory, or nowhere."""
        name, directory = self._names().get(number), self.folder.directory
        path = directory / name if name and directory else None
        return path if path and path.exists() else None

    def numbers(self) -> list[int]:
        """Of all artifacts that there are, in order."""
        return sorted(self._names())

    def _new_name(self, kind: str) -> str:
        if self._next is None:
            self._next = max(self._names(), default=-1) + 1
        number, self._next = self._next, self._next + 1
        return f"{number}.{re.sub(r'[^A-Za-z0-9_-]', '_', kind) or 'output'}.log"

    def _names(self) -> dict[int, str]:
        return {
            int(found[1]): found[0]
            for n in self.folder.names()
            if (found := re.fullmatch(_NAME, n))
        }
