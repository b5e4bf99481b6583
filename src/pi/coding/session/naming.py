"""Names of sessions, their files and folders; the time of their timestamps."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

from pi.base.terminal_text import one_line

_SEPARATORS = str.maketrans("/\\:", "---")
_IN_TIME = str.maketrans(":.", "--")
_MAX_NAME, _SHORTENED = 255, 200
"""Bytes of a file name: the limit of file systems, and what is kept of a longer one."""
_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"

SESSIONS = "sessions"
"""The folder of all sessions in the agent's directory."""
SUFFIX = ".jsonl"


def folder_name(cwd: str) -> str:
    """Return the folder name of a working directory: ``/a.b/c:d`` becomes ``--a.b-c-d--``.

    A path that is too long for one name is truncated and made unique by a hash.
    """
    without_root = cwd[1:] if cwd[:1] in ("/", "\\") else cwd
    name = f"--{without_root.translate(_SEPARATORS)}--"
    encoded = os.fsencode(name)
    if len(encoded) <= _MAX_NAME:
        return name
    from hashlib import sha256  # rarely needed, and loads OpenSSL

    start = encoded[:_SHORTENED].decode("utf-8", "ignore")
    return f"{start}-{sha256(encoded).hexdigest()[:16]}--"


def session_directory(agent_dir: Path, cwd: str, *, custom: Path | None = None) -> Path:
    """Return the session directory of ``cwd``; a ``custom`` directory has no subfolders."""
    return custom if custom is not None else agent_dir / SESSIONS / folder_name(cwd)


def file_name(timestamp: str, id: str) -> str:
    """Return the file name of the session ``id`` created at ``timestamp``."""
    return f"{timestamp.translate(_IN_TIME)}_{id}{SUFFIX}"


def is_session_id(text: str) -> bool:
    """Whether ``text`` is a valid session id: it becomes part of a file name."""
    return re.fullmatch(_ID, text) is not None


def clean_name(name: str) -> str:
    """Return a session name or label in stored form: one line, no control characters."""
    return one_line(name)


def milliseconds(timestamp: str) -> int:
    """Return a timestamp of a session file in milliseconds since 1970; 0 if invalid."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
