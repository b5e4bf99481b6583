"""Files that keep an output of which only the end is shown: one file each, of a limited size."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pi.base.clock import Clock
from pi.base.files import open_private
from pi.base.ids import RandomBytes
from pi.coding.blobs.artifacts import Artifact

log = logging.getLogger(__name__)


OLDEST = 7 * 24 * 3600
"""Seconds after which a spill file is removed."""


MOST_KEPT = 1024**3
"""Bytes of one output that are kept; what comes after them is lost, except for the end."""

NewArtifact: TypeAlias = Callable[[], Artifact | None]
"""Gives a place among the session's artifacts, or none when it has no folder."""


class Spill:
    """A file that takes what a command writes; when it fails it is given up, not the command.

    ``names`` are the names of this one file, the one that users are shown first.
    """

    def __init__(
        self,
        file: BinaryIO,
        names: Sequence[Path],
        artifact: Artifact | None = None,
        *,
        most: int = MOST_KEPT,
    ) -> None:
        self._file = file
        self._names = names
        self._artifact = artifact
        self._most = most
        self._left = most
        self._has_failed = False
        self._is_full = False

    @property
    def path(self) -> Path | None:
        """The file that users are shown, unless it could not be written."""
        return None if self._has_failed else self._names[0]

    @property
    def artifact(self) -> Artifact | None:
        """The artifact of the session, unless there is none."""
        return None if self._has_failed else self._artifact

    @property
    def limit(self) -> int | None:
        """Bytes that were kept, if the output was longer."""
        return self._most if self._is_full else None

    def write(self, data: bytes) -> None:
        """Add what was written now, as far as there is room for it."""
        if self._has_failed or self._is_full:
            return
        self._is_full = len(data) > self._left
        data = data[: self._left]
        self._left -= len(data)
        note = f"\n{beyond(self._most)}\n".encode() if self._is_full else b""
        try:
            self._file.write(data + note)
        except OSError as problem:
            self._give_up(problem)

    def close(self) -> None:
        """Everything is on disk afterwards; whoever reads the result may read the file."""
        try:
            self._file.close()
        except OSError as problem:  # the last bytes did not fit
            self._give_up(problem)

    def _give_up(self, problem: OSError) -> None:
        log.warning("cannot keep the whole output in %s: %s", self._names[0], problem)
        self._has_failed = True
        with suppress(OSError):
            self._file.close()
        for name in self._names:  # half an output under the name of a whole one misleads
            with suppress(OSError):
                name.unlink()


def beyond(limit: int) -> str:
    """The note about what was not kept."""
    return f"[Output beyond {size_text(limit)} was not kept.]"


class SpillFolder:
    """Makes spill files ``pi-bash-<16 hex>.log``, private to the person, and ages them out."""

    def __init__(
        self,
        folder: Path,
        *,
        random_bytes: RandomBytes,
        clock: Clock,
        new_artifact: NewArtifact = lambda: None,
        most: int = MOST_KEPT,
    ) -> None:
        self._folder = folder
        self._random_bytes = random_bytes
        self._clock = clock
        self._new_artifact = new_artifact
        self._most = most
        self._aged = False

    def open(self) -> Spill | None:
        """A new file, which is an artifact of the session too; ``None`` if it cannot be written."""
        if not self._aged:
            self._aged = True
            self.remove_old()
        path = self._folder / f"pi-bash-{self._random_bytes(8).hex()}.log"
        artifact = self._artifact()
        if artifact and (file := _create(artifact.path)):
            # One file with two names: two files would take twice the disk.
            names = [path, artifact.path] if _link(artifact.path, path) else [artifact.path]
            return Spill(file, names, artifact, most=self._most)
        return Spill(file, [path], most=self._most) if (file := _create(path)) else None

    def remove_old(self) -> None:
        """Remove the files of ours that nobody will come back to."""
        if not hasattr(os, "getuid"):
            return  # Windows: the folder is the person's own, and the system tidies it
        before = self._clock.now_ms() / 1000 - OLDEST
        for path in self._folder.glob("pi-bash-*.log"):
            with suppress(OSError):
                found = path.lstat()
                if found.st_uid == os.getuid() and found.st_mtime < before:
                    path.unlink()

    def _artifact(self) -> Artifact | None:
        try:
            return self._new_artifact()
        except OSError as problem:
            log.warning("no artifact for a long output: %s", problem)
            return None


def _create(path: Path) -> BinaryIO | None:
    try:
        return open(path, "xb", opener=open_private)  # closed by the spill
    except OSError as problem:
        log.warning("cannot create %s: %s", path, problem)
        return None


def _link(target: Path, path: Path) -> bool:
    """Give a file a second name; a symbolic one if that is on another disk."""
    for link in (os.link, os.symlink):
        with suppress(OSError):
            link(target, path)
            return True
    return False


def size_text(size: int) -> str:
    """A number of bytes for people: ``512B``, ``50.0KB``, ``1.5MB``."""
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}KB"
    return f"{size / (1024 * 1024):.1f}MB"
