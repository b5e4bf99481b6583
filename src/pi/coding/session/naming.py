"""What sessions, their files and folders are called."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from datetime import datetime
from pathlib import Path

from msgspec import field

from pi.base.clock import Clock, SystemClock, iso_timestamp
from pi.base.ids import RandomBytes, short_id, uuid7
from pi.base.records import Record
from pi.base.terminal_text import one_line

_SEPARATORS = str.maketrans("/\\:", "---")
_IN_TIME = str.maketrans(":.", "--")
_LONGEST_NAME, _SHORTENED = 255, 200
"""Bytes of a file's name: what file systems take, and what is kept of a longer one."""
_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"

SESSIONS = "sessions"
"""The folder of all sessions in the agent's directory."""
SUFFIX = ".jsonl"


def folder_name(cwd: str) -> str:
    """The folder of the sessions of a working directory: ``/a.b/c:d`` gives ``--a.b-c-d--``.

    A path that is too long for one name is shortened, and told apart from others by a hash.
    """
    without_root = cwd[1:] if cwd[:1] in ("/", "\\") else cwd
    name = f"--{without_root.translate(_SEPARATORS)}--"
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    from hashlib import sha256  # seldom needed, and loads OpenSSL

    start = encoded[:_SHORTENED].decode("utf-8", "ignore")
    return f"{start}-{sha256(encoded).hexdigest()[:16]}--"


def session_directory(agent_dir: Path, cwd: str, *, custom: Path | None = None) -> Path:
    """Where the sessions of ``cwd`` are kept; a ``custom`` directory has no folders below it."""
    return custom if custom is not None else agent_dir / SESSIONS / folder_name(cwd)


def file_name(timestamp: str, id: str) -> str:
    """The file of the session ``id`` that was begun at ``timestamp``."""
    return f"{timestamp.translate(_IN_TIME)}_{id}{SUFFIX}"


def is_session_id(text: str) -> bool:
    """Whether ``text`` can be the id of a session: it becomes part of a file's name."""
    return re.fullmatch(_ID, text) is not None


def clean_name(name: str) -> str:
    """A session's name or a label as it is stored and shown: one line, no control characters."""
    return one_line(name)


# Ids and times of what is new.


class IdFactory(Record, kw_only=False):
    """Makes ids and times; tests give it a clock and bytes of their own."""

    clock: Clock = field(default_factory=SystemClock)
    random_bytes: RandomBytes = os.urandom

    def now(self) -> str:
        """The time as session files write it."""
        return iso_timestamp(self.clock.now_ms())

    def session_id(self) -> str:
        """An id for a session; ids sort by age."""
        return uuid7(self.clock.now_ms(), self.random_bytes)

    def entry_id(self, taken: Container[str]) -> str:
        """An id for an entry that is not in ``taken``."""
        return short_id(taken, self.random_bytes)


def milliseconds(timestamp: str) -> int:
    """When a time of a session file was, in milliseconds since 1970; 0 for what is no time."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
