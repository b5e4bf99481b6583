"""Artifacts: the whole of an output of which the model saw a part, by a number of the session."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import Record

log = logging.getLogger(__name__)


# Texts that belong to one session: files of a directory of its own, or kept in memory.


LARGEST = 1024 * 1024 * 1024
"""Bytes of a text that is read: as many as the output of a command may have."""

_SESSION_SUFFIX = ".jsonl"


def artifact_directory(session_file: Path) -> Path:
    """Where the texts of a session are: beside its file, under its name without ``.jsonl``."""
    if session_file.name.endswith(_SESSION_SUFFIX):
        return session_file.with_name(session_file.name.removesuffix(_SESSION_SUFFIX))
    return session_file.with_name(f"{session_file.name}.artifacts")


def copy_artifacts(session_file: Path, fork_file: Path) -> None:
    """Give a fork the texts of the session it was made from; it is a fork without them, too."""
    source, target = artifact_directory(session_file), artifact_directory(fork_file)
    if not source.is_dir():
        return
    import shutil  # with all its archive formats, and forks are rare

    try:
        private_directory(target.parent)
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    except (OSError, PiError) as problem:
        log.warning("the artifacts in %s were not copied: %s", source, problem)


class TextFolder:
    """Texts by file name. What cannot be written, or has no directory, stays in memory."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        """It is made with the first text; ``None``: all are in memory."""
        self._in_memory: dict[str, str] = {}

    @property
    def exists(self) -> bool:
        """Whether there is a place where texts could be."""
        return self.directory is None or self.directory.is_dir() or bool(self._in_memory)

    def make(self) -> Path | None:
        """The directory, which exists then; ``None`` if there is none."""
        if self.directory is None:
            return None
        try:
            return private_directory(self.directory)
        except PiError as problem:
            log.warning("there is no place for artifacts: %s", problem)
            return None

    def write(self, name: str, text: str) -> None:
        """Keep a text under a name; it takes the place of one that was there."""
        if (directory := self.make()) is not None:
            try:
                replace_file(directory / name, text.encode("utf-8", "replace"))
                self._in_memory.pop(name, None)
                return
            except PiError as problem:
                log.warning("an artifact is kept in memory: %s", problem)
        self._in_memory[name] = text

    def read(self, name: str) -> str | None:
        """The text of that name; ``None`` if there is none."""
        if name in self._in_memory:
            return self._in_memory[name]
        stored = read_if_exists(self.directory / name, max_bytes=LARGEST) if self.directory else None
        return None if stored is None else stored.decode("utf-8", "replace")

    def names(self) -> list[str]:
        """Of all texts that there are."""
        try:
            on_disk = [path.name for path in self.directory.iterdir()] if self.directory else []
        except OSError:  # it is made with the first text
            on_disk = []
        return sorted({*on_disk, *self._in_memory})


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
