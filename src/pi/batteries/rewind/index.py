"""The index of a project: stamps and states of all paths when a session was last closed.

With it the next session reads changed files only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.batteries.rewind.pauses import CODED, in_slices
from pi.batteries.rewind.states import FileState, Stamp, decode_state
from pi.extension import Record


class Known(Record, gc=False):
    """What a path held when it was last read.

    ``gc=False``: there are as many as files, they are in no cycle, and a collection that visits
    20,000 of them stops all threads for 25-40 ms.
    """

    stamp: Stamp
    state: FileState


class Index(Record):
    """The content of an index."""

    session: str
    """The session that wrote it."""
    left_out: tuple[str, ...]
    """Folders beyond the limit."""
    rule_texts: dict[str, str]
    """The ignore files, by path."""
    known: dict[str, Known]


def encode_index(index: Index) -> bytes:
    """The content of the file: a head, then a line for each path."""
    head = {"session": index.session, "leftOut": index.left_out, "ruleTexts": index.rule_texts}
    rows = ([path, each.stamp, each.state.encode()] for path, each in index.known.items())
    # Line by line: encoding all of it in one call would block the event loop for 0.1 s.
    return "\n".join([json.dumps(head), *map(json.dumps, in_slices(rows, CODED)), ""]).encode()


def read_index(path: Path) -> Index | None:
    """``None`` if it is missing, or was written by another version."""
    try:
        head, rows = _lines(path)
        known = {
            path: Known(stamp=_stamp(stamp), state=state)
            for path, stamp, encoded in rows
            if (state := decode_state(encoded)) is not None
        }
        left_out = tuple(map(str, head["leftOut"]))
        rule_texts = {str(path): str(text) for path, text in head.get("ruleTexts", {}).items()}
        return Index(
            session=str(head["session"]), left_out=left_out, rule_texts=rule_texts, known=known
        )
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return None


def index_hashes(path: Path) -> set[str]:
    """The contents that an index refers to."""
    try:
        return {row[2][2] for row in _lines(path)[1] if row[2] and row[2][0] == "f"}
    except (OSError, ValueError, IndexError):
        return set()


def _lines(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    """The head and the rows, each decoded when it is reached: all lists at once would be visited
    by the garbage collector.
    """
    head, *lines = path.read_text("utf-8").splitlines()
    return json.loads(head), (json.loads(line) for line in in_slices(lines, CODED))


def _stamp(value: object) -> Stamp:
    size, modified, changed, mode, inode = map(int, value)  # type: ignore[call-overload]
    return (size, modified, changed, mode, inode)
