"""Drafts: prompts that were not sent, kept for the next start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import private_directory, read_regular, replace_file
from pi.base.locks import FileLock, FileLocked

FOLDER = "drafts"


class Drafts:
    """The draft of one process in one folder. Disk errors are ignored."""

    def __init__(self, agent_dir: Path, cwd: Path, *, name: str) -> None:
        self._folder = agent_dir / FOLDER
        self._place = hashlib.sha256(str(cwd).encode("utf-8", "replace")).hexdigest()[:16]
        self._path = self._folder / f"{self._place}.{name}.txt"
        self._held = ExitStack()
        self._is_held = False
        self._saved = ""

    def save(self, text: str) -> None:
        """Save a text; an empty one removes the file."""
        if text == self._saved:
            return
        self._saved = text
        with suppress(OSError, PiError):
            if text.strip():
                self._hold()
                replace_file(self._path, text.encode("utf-8", "replace"))
            else:
                self._path.unlink(missing_ok=True)

    def recover(self) -> str | None:
        """Return the newest abandoned draft of this folder, and save it as the own draft."""
        with suppress(OSError, PiError):
            for path in self._abandoned_drafts():
                text = read_regular(path).decode("utf-8", "replace")
                path.unlink(missing_ok=True)
                if text.strip():
                    self.save(text)
                    return text
        return None

    def close(self, *, keep: bool = False) -> None:
        """Remove the draft, unless it should be kept."""
        if not keep:
            self.save("")
        self._held.close()

    def _hold(self) -> None:
        if not self._is_held:
            private_directory(self._folder)
            self._held.enter_context(FileLock(_lock_of(self._path)))
            self._held.callback(_lock_of(self._path).unlink, missing_ok=True)
            self._is_held = True

    def _abandoned_drafts(self) -> Iterator[Path]:
        files = sorted(
            self._folder.glob(f"{self._place}.*.txt"),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
        for path in files:
            if path != self._path and not _is_held(path):
                yield path


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _is_held(path: Path) -> bool:
    lock = _lock_of(path)
    try:
        with FileLock(lock):
            pass
    except FileLocked:
        return True
    lock.unlink(missing_ok=True)
    return False
