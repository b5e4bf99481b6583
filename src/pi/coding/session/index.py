"""The index of sessions: what was found in their files, so that none is read twice.

One file in the agent's directory. It is a cache: a row counts as long as its file has the same size
and time; an index that is damaged, of another version or gone is made anew without a word.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record
from pi.coding.session.facts import SessionFacts

log = logging.getLogger(__name__)

FILE_NAME = "session-index.json"

LARGEST = 64 * 1024 * 1024
"""Bytes; a row has a few hundred."""

_VERSION = 1


class Row(Record, array_like=True, gc=False):
    """A file as it was when it was read."""

    size: int
    modified_ns: int
    facts: SessionFacts | None
    """``None``: it is not a session."""


class _Stored(Record):
    version: int
    rows: dict[str, Row]
    """By the real path of the file."""


_STORED = msgspec.json.Decoder(_Stored)


def load_index(agent_dir: Path) -> dict[str, Row]:
    """The rows by the real path of their files; none, if there is no index that can be used."""
    try:
        stored = _STORED.decode(read_if_exists(agent_dir / FILE_NAME, most=LARGEST) or b"")
    except (*UNREADABLE, PiError):
        return {}
    return stored.rows if stored.version == _VERSION else {}


def save_index(agent_dir: Path, rows: Mapping[str, Row]) -> None:
    """Keep the rows for next time; where that is impossible, they will be read again."""
    try:
        stored = msgspec.json.encode(_Stored(version=_VERSION, rows=dict(rows)))
        replace_file(agent_dir / FILE_NAME, stored)
    except (UnicodeEncodeError, PiError) as problem:
        log.debug("the session index was not saved: %s", problem)
