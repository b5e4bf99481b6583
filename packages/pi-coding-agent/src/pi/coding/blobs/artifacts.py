"""Artifacts: complete outputs that the model saw in part, and outputs of sub-agents."""

from __future__ import annotations

import logging
import re
import weakref
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import Record

log = logging.getLogger(__name__)


MAX_TEXT_BYTES = 1024 * 1024 * 1024
"""Maximum bytes of a text: as many as the output of a command may have."""

_SESSION_SUFFIX = ".jsonl"


def artifact_directory(session_file: Path) -> Path:
    """Return the artifact directory of a session: beside its file, without ``.jsonl``."""
    if session_file.name.endswith(_SESSION_SUFFIX):
        return session_file.with_name(session_file.name.removesuffix(_SESSION_SUFFIX))
    return session_file.with_name(f"{session_file.name}.artifacts")


def session_artifacts(session_file: Path | None) -> Artifacts:
    """Return the artifacts of a session; they end with the run if it has no file."""
    return Artifacts(TextFolder(None if session_file is None else artifact_directory(session_file)))


def copy_artifacts(session_file: Path, fork_file: Path) -> None:
    """Copy the artifacts of a session to its fork; failures are only logged."""
    source, target = artifact_directory(session_file), artifact_directory(fork_file)
    if not source.is_dir():
        return
    import shutil  # deferred: loads all archive formats, and forks are rare

    try:
        private_directory(target.parent)
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    except (OSError, PiError) as error:
        log.warning("the artifacts in %s were not copied: %s", source, error)


class TextFolder:
    """Texts by file name in one directory. Without a directory, or if writing fails, in memory.

    Without a directory, files that a caller writes itself are in a temporary one, which is removed
    with this object.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        """Created with the first text; ``None``: texts are in memory."""
        self._in_memory: dict[str, str] = {}

    @property
    def exists(self) -> bool:
        """Whether the directory exists, or texts are kept in memory."""
        return self.directory is None or self.directory.is_dir() or bool(self._in_memory)

    def make(self) -> Path | None:
        """Create and return the directory; ``None`` if it cannot be created."""
        try:
            if self.directory is None:
                self.directory = self._make_temporary()
            return private_directory(self.directory)
        except (OSError, PiError) as error:
            log.warning("there is no place for artifacts: %s", error)
            return None

    def _make_temporary(self) -> Path:
        import shutil  # deferred, like ``tempfile``: only sessions without a file need them
        import tempfile

        directory = tempfile.mkdtemp(prefix="pi-artifacts-")
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        return Path(directory)

    def write(self, name: str, text: str) -> None:
        """Store a text under a name; replaces an existing one."""
        if self.directory is not None and (directory := self.make()) is not None:
            try:
                replace_file(directory / name, text.encode("utf-8", "replace"))
                self._in_memory.pop(name, None)
                return
            except PiError as error:
                log.warning("an artifact is kept in memory: %s", error)
        self._in_memory[name] = text

    def read(self, name: str) -> str | None:
        """Return the text of that name, or ``None``."""
        if name in self._in_memory:
            return self._in_memory[name]
        stored = (
            read_if_exists(self.directory / name, max_bytes=MAX_TEXT_BYTES)
            if self.directory
            else None
        )
        return None if stored is None else stored.decode("utf-8", "replace")

    def names(self) -> list[str]:
        """Return the names of all texts."""
        try:
            on_disk = [path.name for path in self.directory.iterdir()] if self.directory else []
        except OSError:  # the first text creates it
            on_disk = []
        return sorted({*on_disk, *self._in_memory})


_SUFFIX = ".md"
_UNSAFE = r"[^\w.@+-]+"


class AgentOutputs:
    """Outputs of a session's sub-agents, ``<name>.md``; a name is never reused."""

    def __init__(self, folder: TextFolder) -> None:
        self.folder = folder
        self._used_ids: set[str] | None = None

    def allocate(self, name: str, *, parent: str = "") -> str:
        """Return an id for the output of an agent: its name, then ``name-2``, ``name-3`` and so on.

        With the id of a ``parent``, ``parent.name``. Invalid file name characters become ``-``.
        """
        safe = re.sub(_UNSAFE, "-", name).strip(".-") or "agent"
        base = f"{parent}.{safe}" if parent else safe
        if self._used_ids is None:
            self._used_ids = {id.casefold() for id in self.list()}
        ids = (base if number == 1 else f"{base}-{number}" for number in count(1))
        free = next(id for id in ids if id.casefold() not in self._used_ids)
        self._used_ids.add(free.casefold())  # some file systems ignore case
        return free

    def save(self, id: str, text: str) -> None:
        """Store the output of an agent under its allocated id; replaces an earlier one."""
        if re.search(_UNSAFE, id) or id.strip(".-") != id or not id:
            raise PiError(f"{id!r} is not the id of an output.", hint="Use one from allocate().")
        self.folder.write(id + _SUFFIX, text)

    def read(self, id: str) -> str | None:
        """Return the output, or ``None``."""
        return self.folder.read(id + _SUFFIX) if id in self.list() else None

    def list(self) -> Sequence[str]:
        """Return the ids of all outputs."""
        names = self.folder.names()
        return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


_NAME = r"(?s)([0-9]+)\..*\.log"


class Artifact(Record):
    """A file reserved for an artifact, and its number as text."""

    id: str
    path: Path


class Artifacts:
    """The artifacts of one session and its sub-agents: ``<number>.<kind>.log``.

    Numbers continue after the existing ones, so that a resumed session overwrites nothing.
    """

    def __init__(self, folder: TextFolder) -> None:
        self.folder = folder
        self.outputs = AgentOutputs(folder)
        """Outputs of sub-agents, by name."""
        self._next: int | None = None

    def save(self, kind: str, text: str) -> str:
        """Store a text; returns its number for ``artifact://``. ``kind`` is its source."""
        name = self._new_name(kind)
        self.folder.write(name, text)
        return name.partition(".")[0]

    def allocate(self, kind: str) -> Artifact | None:
        """Reserve a number and a file that the caller creates; ``None`` if there is no place."""
        if (directory := self.folder.make()) is None:
            return None
        name = self._new_name(kind)
        return Artifact(id=name.partition(".")[0], path=directory / name)

    def read(self, number: int) -> str | None:
        """Return the text of an artifact, or ``None``."""
        name = self._names_by_number().get(number)
        return None if name is None else self.folder.read(name)

    def path(self, number: int) -> Path | None:
        """Return the file of an artifact; ``None`` if it is in memory or missing."""
        name, directory = self._names_by_number().get(number), self.folder.directory
        path = directory / name if name and directory else None
        return path if path and path.exists() else None

    def numbers(self) -> list[int]:
        """Return the numbers of all artifacts in order."""
        return sorted(self._names_by_number())

    def _new_name(self, kind: str) -> str:
        if self._next is None:
            self._next = max(self._names_by_number(), default=-1) + 1
        number, self._next = self._next, self._next + 1
        return f"{number}.{re.sub(r'[^A-Za-z0-9_-]', '_', kind) or 'output'}.log"

    def _names_by_number(self) -> dict[int, str]:
        return {
            int(match[1]): match[0]
            for n in self.folder.names()
            if (match := re.fullmatch(_NAME, n))
        }
