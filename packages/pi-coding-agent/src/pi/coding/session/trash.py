"""Deletes sessions so that they can be restored.

Uses the ``trash`` command if there is one, else the desktop's trash, else a folder in the agent's
directory. Artifacts are moved too.
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
"""Folder in the agent's directory."""
TIMEOUT = 30.0
"""Time limit of the command, in seconds."""


class Trash:
    """Moves deleted sessions to the trash."""

    def __init__(self, agent_dir: Path, environ: Mapping[str, str], clock: Clock) -> None:
        self._own = agent_dir / FOLDER
        self._environ = environ
        self._clock = clock

    async def delete(self, path: Path) -> None:
        """Move a session to the trash; raises ``SessionInUse`` if it is open."""
        if not path.exists():
            raise SessionNotFound(path)
        with sole_use(path):
            await self._run_command(path)
            for file in _existing_files(path):
                self._put(file)

    async def _run_command(self, path: Path) -> None:
        command = find_program("trash", self._environ)
        if command is None:
            return
        try:
            result = await run(
                [command, *(str(file.absolute()) for file in _existing_files(path))],
                cwd=path.absolute().parent,
                env=allow_listed(self._environ),
                timeout=TIMEOUT,
                max_output=10_000,
            )
        except PiError as error:
            log.info("%s", error)
            return
        if not result.ok:  # the next method handles what the command left
            log.info("%s failed: %s", command, result.errors.decode(errors="replace"))

    def _put(self, path: Path) -> None:
        desktop = self._desktop_trash()
        try:
            if desktop is None or not self._put_on_desktop(path, desktop):
                free = (
                    target
                    for target in _numbered_names(self._own, path.name)
                    if not os.path.lexists(target)
                )
                private_directory(self._own)
                shutil.move(path, next(free))
        except OSError as error:
            raise FileAccessError(
                f"Cannot move {path} to the trash: {error.strerror or error}.",
                hint="It was not deleted.",
            ) from error

    def _desktop_trash(self) -> Path | None:
        if sys.platform in ("darwin", "win32"):
            return None  # these systems have no plain trash folder
        data = self._environ.get("XDG_DATA_HOME", "")
        home = self._environ.get("HOME", "")
        if not data and not home:
            return None
        return Path(data or f"{home}/.local/share") / "Trash"

    def _put_on_desktop(self, path: Path, trash: Path) -> bool:
        """Use the trash of the freedesktop.org specification; returns whether that was possible.

        Not across file systems: only renaming is certain to lose nothing.
        """
        try:
            files, notes = private_directory(trash / "files"), private_directory(trash / "info")
            target, info_file = self._claim(path, files, notes)
        except (OSError, PiError) as error:
            log.info("cannot use the desktop's trash: %s", error)
            return False
        try:
            path.rename(target)
            return True
        except OSError as error:
            log.info("not in the desktop's trash: %s", error)
            info_file.unlink()
            return False

    def _claim(self, path: Path, files: Path, notes: Path) -> tuple[Path, Path]:
        """Reserve a name in the desktop's trash; returns the target and its info file."""
        day = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self._clock.now_ms() / 1000))
        origin = quote(os.fsencode(path.absolute()))
        for target in _numbered_names(files, path.name):
            info_file = notes / f"{target.name}.trashinfo"
            if os.path.lexists(target) or os.path.lexists(info_file):
                continue
            with info_file.open("x", encoding="utf-8") as file:
                file.write(f"[Trash Info]\nPath={origin}\nDeletionDate={day}\n")
            return target, info_file
        raise AssertionError("unreachable: names never end")


def _existing_files(path: Path) -> list[Path]:
    """Return the existing files of a session."""
    return [file for file in (path, artifact_directory(path)) if os.path.lexists(file)]


def _numbered_names(folder: Path, name: str) -> Iterator[Path]:
    """Yield ``name`` and numbered variants in a folder."""
    yield folder / name
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 1
    while True:
        number += 1
        yield folder / f"{stem}.{number}{suffix}"
