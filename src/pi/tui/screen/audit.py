"""Notices that rows which are already history have shifted, so that none is lost.

A row in the scrollback cannot be changed. When a component changes it all the same, there are two
cases. Single rows edited or restyled in place: the copy in history is out of date, and stays. Rows
inserted or removed: everything below has moved, and a row would be skipped or shown twice; then
history is continued from the first row that differs. Duplicated, never lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.text.ansi import strip_sequences

SAMPLED_ROWS = 8
"""How many rows that are not blank are compared, from the end of history upwards."""
REACH = 24
"""How far upwards to look for them."""


def first_row_to_commit_again(
    history: Sequence[str], before: Sequence[str], frame: Sequence[str], *, settled: int
) -> int | None:
    """Where history must be continued, or None if it still stands as ``frame`` has it.

    ``before`` is the frame that was painted last. Its rows from ``settled`` on were not final; if
    a resize has moved some of them into history, every change of them counts.
    """
    restarts = (_shifted(history, before, frame), _changed(history, frame, settled))
    return min((row for row in restarts if row is not None), default=None)


def _changed(history: Sequence[str], frame: Sequence[str], settled: int) -> int | None:
    """The first row at or behind ``settled`` that was written and is different now."""
    rows = range(settled, min(len(history), len(frame)))
    return next((row for row in rows if _text(history[row]) != _text(frame[row])), None)


def _shifted(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> int | None:
    """The first row that differs, if rows have come or gone."""
    if len(frame) <= len(history):
        start = _first_difference(history[: len(frame)], frame)
        return start if start < len(frame) else None
    if _is_aligned(history, before, frame):
        return None
    return _first_difference(history, frame)


def _is_aligned(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> bool:
    """Whether the last rows of history are where they were, but for one edited in place."""
    different: list[int] = []
    equal = 0
    for index in range(len(history) - 1, max(len(history) - 1 - REACH, -1), -1):
        old, new = history[index], frame[index]
        if old is not new and _text(old) != _text(new):
            different.append(index)
        elif _text(old):
            equal += 1
        if equal + len(different) == SAMPLED_ROWS or len(different) > 1:
            break
    if len(different) == 1 and equal:
        return not _has_moved(different[0], history, before, frame)
    return not different


def _has_moved(
    row: int, history: Sequence[str], before: Sequence[str], frame: Sequence[str]
) -> bool:
    """Whether a row that changed was not edited, but made room for another or took its place.

    Rows that come or go at the very end of history disturb only one row of it.
    """
    below = slice(row + 1, row + 1 + REACH)
    old, new = _text(history[row]), _text(frame[row])
    return old in map(_text, frame[below]) or new in map(_text, before[below])


def _first_difference(history: Sequence[str], frame: Sequence[str]) -> int:
    for index, (old, new) in enumerate(zip(history, frame, strict=False)):
        if old is not new and _text(old) != _text(new):
            return index
    return min(len(history), len(frame))


def _text(row: str) -> str:
    """What a reader sees of a row; a change of style alone is no change."""
    return strip_sequences(row).rstrip()
