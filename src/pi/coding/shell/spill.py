"""Files that keep the whole of an output of which only the end is shown."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
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


NewArtifact: TypeAlias = Callable[[], Artifact | None]
"""Gives a place among the session's artifacts, or none when it has no folder."""


class Spill:
    """Files that take everything a command writes; one that fails is given up, not the command."""

    def __init__(self, files: dict[Path, BinaryIO], artifact: Artifact | None) -> None:
        self._files = files
        self._artifact = artifact
        self._path = next(iter(files))

    @property
    def path(self) -> Path | None:
        """The file that people are told of, unless it could not be written."""
        return self._path if self._path in self._files else None

    @property
    def artifact(self) -> Artifact | None:
        """The session's copy, unless there is none."""
        return self._artifact if self._artifact and self._artifact.path in self._files else None

    def write(self, data: bytes) -> None:
        """Add what was written now."""
        for path, file in [*self._files.items()]:
            try:
                file.write(data)
            except OSError as problem:
                log.warning("cannot keep the whole output in %s: %s", path, problem)
                self._give_up(path)

    def close(self) -> None:
        """Everything is on disk afterwards; whoever reads the result may read the files."""
        for path, file in [*self._files.items()]:
            try:
                file.close()
            except OSError as problem:  # the last bytes did not fit
                log.warning("cannot keep the whole output in %s: %s", path, problem)
                self._give_up(path)

    def _give_up(self, path: Path) -> None:
        file = self._files.pop(path)
        with suppress(OSError):
            file.close()
        with suppress(OSError):  # half an output under the name of a whole one misleads
            path.unlink()


class SpillFolder:
    """Makes spill files ``pi-bash-<16 hex>.log``, private to the person, and ages them out."""

    def __init__(
        self,
        folder: Path,
        *,
        random_bytes: RandomBytes,
        clock: Clock,
        new_artifact: NewArtifact = lambda: None,
    ) -> None:
        self._folder = folder
        self._random_bytes = random_bytes
        self._clock = clock
        self._new_artifact = new_artifact
        self._aged = False

    def open(self) -> Spill | None:
        """A new file, and the artifact beside it; ``None`` if neither can be written."""
        if not self._aged:
            self._aged = True
            self.remove_old()
        path = self._folder / f"pi-bash-{self._random_bytes(8).hex()}.log"
        artifact = self._artifact()
        files: dict[Path, BinaryIO] = {}
        for each in [path, *([artifact.path] if artifact else [])]:
            try:
                files[each] = open(each, "xb", opener=open_private)  # noqa: SIM115 - closed by the spill
            except OSError as problem:
                log.warning("cannot create %s: %s", each, problem)
        return Spill(files, artifact) if files else None

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
