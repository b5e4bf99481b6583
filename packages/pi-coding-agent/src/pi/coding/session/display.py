"""The messages of a branch for a screen: all as written, with a divider at each compaction."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import msgspec

from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.base.records import UNREADABLE, Record
from pi.coding.session.context import compaction_message, message_of
from pi.coding.session.entries import (
    Compaction,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    SessionMessage,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.writing import milliseconds

Displayed: TypeAlias = SessionMessage | Custom
"""A message, or an extension entry with a view."""

_DISPLAYED = frozenset({"message", "custom_message", "branch_summary", "compaction"})

EDITED = "compaction-edits"
"""Custom type of the entry that marks a compaction by context edits, which has no other entry."""
_EDITED = f'"{EDITED}"'.encode()


class _Edited(Record):
    """Data of an ``EDITED`` entry, for the divider on the screen."""

    summary: str
    tokens_before: int


class DisplayTranscript(Record):
    """The end of a branch as shown on a screen, in chronological order."""

    items: tuple[Displayed, ...] = ()
    earlier: int = 0
    """Number of messages before ``items``."""
    end: int | None = None
    """Position in the log before the first item; ``None`` if there are no earlier messages."""


def display_transcript(
    log: SessionLog,
    most: int,
    shows: Callable[[Custom], bool] | None = None,
    *,
    end: int | None = None,
) -> DisplayTranscript:
    """Return the newest ``most`` messages of the branch, also those the model no longer sees.

    ``end`` is the ``end`` of an earlier result: the messages before it are returned. ``shows``
    selects extension entries. Only displayed entries are decoded, so that a long session opens
    quickly. The first item is never a tool result without its call.
    """
    items: list[Displayed] = []
    above: int | None = None
    for position in log.tree.upwards(log.leaf if end is None else end):
        item = _display(log, position, shows)
        if item is None:
            continue
        items.append(item)
        if len(items) >= most and not isinstance(item, ToolResultMessage):
            above = log.tree.parent(position)
            break
    items.reverse()
    earlier = count_displayed(log, above)
    return DisplayTranscript(items=tuple(items), earlier=earlier, end=above if earlier else None)


def _display(
    log: SessionLog, position: int, shows: Callable[[Custom], bool] | None
) -> Displayed | None:
    kind = log.tree.outlines[position].type
    if kind == "custom":
        may_be_shown = shows is not None or _EDITED in log.line(position)
    else:
        may_be_shown = kind in _DISPLAYED
    if not may_be_shown:
        return None
    match log.at(position):
        case Custom(custom_type=type) as edited if type == EDITED:
            return _make_divider(edited)
        case Custom() as custom:
            return custom if shows is not None and shows(custom) else None
        case Compaction() as compaction:
            return compaction_message(compaction)
        case entry:
            message = message_of(entry)
    match message:
        case SystemMessage() | CustomMessage(display=False):
            return None
        case _:
            return message


def _make_divider(edited: Custom) -> CompactionSummaryMessage | None:
    with suppress(msgspec.ValidationError):  # an entry of another program
        marker = msgspec.convert(edited.data, _Edited)
        return CompactionSummaryMessage(
            summary=marker.summary,
            tokens_before=marker.tokens_before,
            timestamp=milliseconds(edited.timestamp),
        )
    return None


class _Role(Record):
    role: str = ""


class _Glance(Record):
    """The part of a message that decides whether it is displayed."""

    message: _Role


_GLANCE = msgspec.json.Decoder(_Glance)


def count_displayed(log: SessionLog, last: int | None) -> int:
    """Return how many entries up to ``last`` are displayed; decodes as little as possible.

    The counts are kept in the log: 200,000 entries take 0.4 s, so they are counted in the thread
    that opens the session.
    """
    outlines, counts, count = log.tree.outlines, log.displayed, 0
    counts.extend(array("q", [-1]) * (len(outlines) - len(counts)))
    new: list[int] = []
    for position in log.tree.upwards_in_memory(last):
        if counts[position] >= 0:
            count = counts[position]
            break
        new.append(position)
        if (facts := log.tree.facts_above(position)) is not None:
            count = facts.displayed
    for position in reversed(new):
        count += _is_displayed(log, position, outlines[position].type)
        counts[position] = count
    return count


def _is_displayed(log: SessionLog, position: int, kind: str) -> bool:
    if kind == "message":
        line = log.line(position)
        if b'"system"' not in line and b'"role":' in line:
            return True
        with suppress(*UNREADABLE):
            return _GLANCE.decode(line).message.role != "system"
    return _display(log, position, None) is not None
