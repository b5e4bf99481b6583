"""Deleting a session so that it can be brought back.

It goes to the ``trash`` command if there is one, else to the desktop's trash, else to a folder in
the agent's directory. Its artifacts go with it.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import FileAccessError, private_directory
from pi.base.processes import allow_listed, find_program, run
from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.session.errors import SessionNotFound
from pi.coding.session.writing import sole_use

log = logging.getLogger(__name__)

FOLDER = "trash"
"""In the agent's directory."""
TIMEOUT = 30.0
"""Seconds that the command may take."""


class Trash:
    """Where sessions go that a person deletes."""

    def __init__(self, agent_dir: Path, environ: Mapping[str, str], clock: Clock) -> None:
        self._own = agent_dir / FOLDER
        self._environ = environ
        self._clock = clock

    async def delete(self, path: Path) -> None:
        """Put a session into the trash; ``SessionInUse`` if anybody has it open."""
        if not path.exists():
            raise SessionNotFound(path)
        with sole_use(path):
            await self._command(path)
            for each in _present(path):
                self._put(each)

    async def _command(self, path: Path) -> None:
        command = find_program("trash", self._environ)
        if command is None:
            return
        try:
            ended = await run(
                [command, *(str(each.absolute()) for each in _present(path))],
                cwd=path.absolute().parent,
                env=allow_listed(self._environ),
                timeout=TIMEOUT,
                max_output=10_000,
            )
        except PiError as problem:
            log.info("%s", problem)
            return
        if not ended.ok:  # what it left where it was goes elsewhere
            log.info("%s failed: %s", command, ended.errors.decode(errors="replace"))

    def _put(self, path: Path) -> None:
        desktop = self._desktop_trash()
        try:
            if desktop is None or not self._put_on_desktop(path, desktop):
                free = (each for each in _names(self._own, path.name) if not os.path.lexists(each))
                private_directory(self._own)
                shutil.move(path, next(free))
        except OSError as error:
            raise FileAccessError(
                f"Cannot move {path} to the trash: {error.strerror or error}.",
                hint="It was not deleted.",
            ) from error

    def _desktop_trash(self) -> Path | None:
        if sys.platform in ("darwin", "win32"):
            return None  # theirs are not just folders
        data = self._environ.get("XDG_DATA_HOME", "")
        home = self._environ.get("HOME", "")
        if not data and not home:
            return None
        return Path(data or f"{home}/.local/share") / "Trash"

    def _put_on_desktop(self, path: Path, trash: Path) -> bool:
        """As the trash specification of freedesktop.org has it; whether that was possible.

        It is not from another file system: only renaming is sure to lose nothing.
        """
        try:
            files, notes = private_directory(trash / "files"), private_directory(trash / "info")
            target, noted = self._claim(path, files, notes)
        except (OSError, PiError) as problem:
            log.info("the desktop's trash cannot be used: %s", problem)
            return False
        try:
            path.rename(target)
            return True
        except OSError as problem:
            log.info("not in the desktop's trash: %s", problem)
            noted.unlink()
            return False

    def _claim(self, path: Path, files: Path, notes: Path) -> tuple[Path, Path]:
        """A name in the desktop's trash, and the note that makes it ours."""
        day = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self._clock.now_ms() / 1000))
        origin = quote(os.fsencode(path.absolute()))
        for target in _names(files, path.name):
            noted = notes / f"{target.name}.trashinfo"
            if os.path.lexists(target) or os.path.lexists(noted):
                continue
            with noted.open("x", encoding="utf-8") as file:
                file.write(f"[Trash Info]\nPath={origin}\nDeletionDate={day}\n")
            return target, noted
        raise AssertionError("names never end")


def _present(path: Path) -> list[Path]:
    """What there is of a session."""
    return [each for each in (path, artifact_directory(path)) if os.path.lexists(each)]


def _names(folder: Path, name: str) -> Iterator[Path]:
    """``name``, and further names like it, in a folder."""
    yield folder / name
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 1
    while True:
        number += 1
        yield folder / f"{stem}.{number}{suffix}"
