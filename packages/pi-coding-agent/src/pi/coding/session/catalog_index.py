"""The index of the catalog: files that have not changed are not read again.

It has the summaries in one file of the agent's directory. A row is valid while its file has the
same size and time; an index that is damaged, outdated or missing is rebuilt silently.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record
from pi.coding.session.summaries import SessionSummary

log = logging.getLogger(__name__)

FILE_NAME = "session-index.json"

MAX_INDEX_BYTES = 64 * 1024 * 1024
"""A larger index is not read; a row has a few hundred bytes."""

_VERSION = 1


class IndexRow(Record, array_like=True, gc=False):
    """A file at the time it was read."""

    size: int
    modified_ns: int
    facts: SessionSummary | None
    """``None``: not a session."""


class _Stored(Record):
    version: int
    rows: dict[str, IndexRow]
    """By the real path of the file."""


_STORED = msgspec.json.Decoder(_Stored)


def load_index(agent_dir: Path) -> dict[str, IndexRow]:
    """Return the rows by the real path of their files; empty if there is no usable index."""
    try:
        stored = _STORED.decode(
            read_if_exists(agent_dir / FILE_NAME, max_bytes=MAX_INDEX_BYTES) or b""
        )
    except (*UNREADABLE, PiError):
        return {}
    return stored.rows if stored.version == _VERSION else {}


def save_index(agent_dir: Path, rows: Mapping[str, IndexRow]) -> None:
    """Store the rows; a failure is only logged."""
    try:
        stored = msgspec.json.encode(_Stored(version=_VERSION, rows=dict(rows)))
        replace_file(agent_dir / FILE_NAME, stored)
    except (UnicodeEncodeError, PiError) as error:
        log.debug("session index not saved: %s", error)
