"""Files with the whole output of a command of which only the end is shown."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from pi.base.clock import Clock, RandomBytes
from pi.base.files import open_private
from pi.coding.blobs.artifacts import Artifact

log = logging.getLogger(__name__)


MAX_AGE_SECONDS = 7 * 24 * 3600
"""Age at which a spill file is removed."""
MAX_SPILL_BYTES = 1024**3
"""Size limit of one file; later output is dropped, except for the end that is shown."""

NewArtifact: TypeAlias = Callable[[], Artifact | None]
"""Returns a new artifact of the session, or ``None`` if the session has no folder."""


class Spill:
    """A file for the output of a command. A write error abandons the file, not the command.

    ``names`` are the paths of this one file; the first is shown to users.
    """

    def __init__(
        self,
        file: BinaryIO,
        names: Sequence[Path],
        artifact: Artifact | None = None,
        *,
        most: int = MAX_SPILL_BYTES,
    ) -> None:
        self._file = file
        self._names = names
        self._artifact = artifact
        self._most = most
        self._remaining = most
        self._has_failed = False
        self._is_full = False

    @property
    def path(self) -> Path | None:
        """The path for users; ``None`` after a write error."""
        return None if self._has_failed else self._names[0]

    @property
    def artifact(self) -> Artifact | None:
        """The artifact of the session, if there is one."""
        return None if self._has_failed else self._artifact

    @property
    def limit(self) -> int | None:
        """Number of bytes that were kept, if the output was longer."""
        return self._most if self._is_full else None

    def write(self, data: bytes) -> None:
        """Append output up to the size limit."""
        if self._has_failed or self._is_full:
            return
        self._is_full = len(data) > self._remaining
        data = data[: self._remaining]
        self._remaining -= len(data)
        note = f"\n{not_kept_note(self._most)}\n".encode() if self._is_full else b""
        try:
            self._file.write(data + note)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Flush and close, so that the file is complete when the result is returned."""
        try:
            self._file.close()
        except OSError as error:  # the last bytes did not fit
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        log.warning("cannot keep the whole output in %s: %s", self._names[0], error)
        self._has_failed = True
        with suppress(OSError):
            self._file.close()
        for name in self._names:  # a partial file labelled as full output would mislead
            with suppress(OSError):
                name.unlink()


def not_kept_note(limit: int) -> str:
    """Return the note about output that was not kept."""
    return f"[Output beyond {size_text(limit)} was not kept.]"


class SpillFolder:
    """Creates private spill files ``pi-bash-<16 hex>.log`` and removes old ones."""

    def __init__(
        self,
        folder: Path,
        *,
        random_bytes: RandomBytes,
        clock: Clock,
        new_artifact: NewArtifact = lambda: None,
        most: int = MAX_SPILL_BYTES,
    ) -> None:
        self._folder = folder
        self._random_bytes = random_bytes
        self._clock = clock
        self._new_artifact = new_artifact
        self._most = most
        self._removed_old = False

    def open(self) -> Spill | None:
        """Create a file that is also a session artifact; ``None`` if it cannot be created."""
        if not self._removed_old:
            self._removed_old = True
            self.remove_old()
        path = self._folder / f"pi-bash-{self._random_bytes(8).hex()}.log"
        artifact = self._artifact()
        if artifact and (file := _create(artifact.path)):
            # One file with two names: two files would take twice the disk space.
            names = [path, artifact.path] if _link(artifact.path, path) else [artifact.path]
            return Spill(file, names, artifact, most=self._most)
        return Spill(file, [path], most=self._most) if (file := _create(path)) else None

    def write_script(self, text: str) -> Path:
        """Create a private file with a command that is too long for a command line.

        Raises ``OSError``. The caller removes it.
        """
        path = self._folder / f"pi-bash-{self._random_bytes(8).hex()}.sh"
        with open(path, "xb", opener=open_private) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        return path

    def remove_old(self) -> None:
        """Remove spill files older than ``MAX_AGE_SECONDS``."""
        if not hasattr(os, "getuid"):
            return  # Windows: the folder belongs to the user, and the system cleans it up
        before = self._clock.now_ms() / 1000 - MAX_AGE_SECONDS
        for path in self._folder.glob("pi-bash-*.log"):
            with suppress(OSError):
                status = path.lstat()
                if status.st_uid == os.getuid() and status.st_mtime < before:
                    path.unlink()

    def _artifact(self) -> Artifact | None:
        try:
            return self._new_artifact()
        except OSError as error:
            log.warning("no artifact for a long output: %s", error)
            return None


def _create(path: Path) -> BinaryIO | None:
    try:
        return open(path, "xb", opener=open_private)  # closed by the spill
    except OSError as error:
        log.warning("cannot create %s: %s", path, error)
        return None


def _link(target: Path, path: Path) -> bool:
    """Create a hard link, or a symbolic link on another file system."""
    for link in (os.link, os.symlink):
        with suppress(OSError):
            link(target, path)
            return True
    return False


def size_text(size: int) -> str:
    """Format a number of bytes: ``512B``, ``50.0KB``, ``1.5MB``."""
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}KB"
    return f"{size / (1024 * 1024):.1f}MB"
