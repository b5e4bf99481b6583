"""The last session of each terminal, for ``pi --continue``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record

FOLDER = "terminals"
"""Folder in the agent's directory; one small file per terminal."""
KEPT_DAYS = 30

_STABLE = ("CMUX_SURFACE_ID", "TERM_SESSION_ID", "WT_SESSION")
"""Variables with unique values per terminal."""
_COUNTED = {"TMUX_PANE": "TMUX", "KITTY_WINDOW_ID": "KITTY_PID"}
"""Variables that count per server, with the variable that identifies the server."""


class Breadcrumb(Record):
    """The last session of a terminal."""

    cwd: str
    session: str
    """The session file."""


def terminal_key(environ: Mapping[str, str], *, tty: str | None, shell_pid: int) -> str | None:
    """Return a stable, unique name of this terminal; ``None`` if there is none.

    ``tty`` is the terminal device, ``shell_pid`` the parent process: a device is reused for the
    next terminal, but with another shell.
    """
    for pane, server in _COUNTED.items():
        if environ.get(pane):
            return _digest(pane, environ[pane], environ.get(server, ""))
    for name in _STABLE:
        if environ.get(name):
            return _digest(name, environ[name])
    return _digest("tty", tty, str(shell_pid)) if tty else None


def leave_breadcrumb(agent_dir: Path, key: str, crumb: Breadcrumb, clock: Clock) -> None:
    """Store the current session of the terminal; failures are ignored."""
    with suppress(PiError, UnicodeEncodeError):  # folder names may not be valid text
        folder = private_directory(agent_dir / FOLDER)
        replace_file(_file(folder, key), msgspec.json.encode(crumb))
        _remove_old(folder, clock.now_ms() / 1000 - KEPT_DAYS * 24 * 3600)


def find_breadcrumb(agent_dir: Path, key: str) -> Breadcrumb | None:
    """Return the last session of the terminal, if known."""
    try:
        stored = read_if_exists(_file(agent_dir / FOLDER, key))
        return None if stored is None else msgspec.json.decode(stored, type=Breadcrumb)
    except (PiError, *UNREADABLE):
        return None


def _digest(*parts: str) -> str:
    import hashlib  # deferred to the end of a session, to keep the start fast

    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _remove_old(folder: Path, before: float) -> None:
    for path in folder.glob("*.json"):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()
