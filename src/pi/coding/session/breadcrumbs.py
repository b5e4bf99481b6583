"""Which session a terminal used last, so that ``--continue`` in it goes on with that one."""

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
"""In the agent's directory; one small file per terminal."""
KEPT_DAYS = 30

_STABLE = ("CMUX_SURFACE_ID", "TERM_SESSION_ID", "WT_SESSION")
"""Variables whose values no other terminal has."""
_COUNTED = {"TMUX_PANE": "TMUX", "KITTY_WINDOW_ID": "KITTY_PID"}
"""Variables that count from anew in every server, with the one that tells servers apart."""


class Breadcrumb(Record):
    """What a terminal used last."""

    cwd: str
    session: str
    """The file."""


def terminal_key(environ: Mapping[str, str], *, tty: str | None, shell_pid: int) -> str | None:
    """A name for this terminal that it keeps, and that no other has; ``None`` if there is none.

    ``tty`` is the name of the terminal device, ``shell_pid`` the process that started us: devices
    are given to the next terminal when one is closed, but then another shell runs in it.
    """
    for pane, server in _COUNTED.items():
        if environ.get(pane):
            return _digest(pane, environ[pane], environ.get(server, ""))
    for name in _STABLE:
        if environ.get(name):
            return _digest(name, environ[name])
    return _digest("tty", tty, str(shell_pid)) if tty else None


def leave_breadcrumb(agent_dir: Path, key: str, crumb: Breadcrumb, clock: Clock) -> None:
    """Remember what the terminal uses now; where that is impossible it is not remembered."""
    with suppress(PiError, UnicodeEncodeError):  # names of folders may be no text
        folder = private_directory(agent_dir / FOLDER)
        replace_file(_file(folder, key), msgspec.json.encode(crumb))
        _remove_old(folder, clock.now_ms() / 1000 - KEPT_DAYS * 24 * 3600)


def find_breadcrumb(agent_dir: Path, key: str) -> Breadcrumb | None:
    """What the terminal used last, as far as it is remembered."""
    try:
        stored = read_if_exists(_file(agent_dir / FOLDER, key))
        return None if stored is None else msgspec.json.decode(stored, type=Breadcrumb)
    except (PiError, *UNREADABLE):
        return None


def _digest(*parts: str) -> str:
    import hashlib  # when a session ends, not when it begins

    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _remove_old(folder: Path, before: float) -> None:
    for path in folder.glob("*.json"):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()
