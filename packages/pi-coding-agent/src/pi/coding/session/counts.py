"""Counts the messages, tool calls, tokens and cost of a log."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import msgspec
from msgspec import UNSET, UnsetType

from pi.ai.messages import AssistantMessage, Usage
from pi.base.records import UNREADABLE, Record
from pi.coding.session.entries import MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.statistics import EntryTotals, TokenTotals, usage_of


class _Block(Record):
    type: str = ""


class _CountedMessage(Record):
    role: str
    content: str | list[_Block]
    usage: Usage | UnsetType = UNSET


class _Counted(Record):
    """The part of a message entry that is counted."""

    message: _CountedMessage


_COUNTED = msgspec.json.Decoder(_Counted)
_COUNTED_ROLES = frozenset({"system", "user", "assistant", "toolResult"})
_UNCOUNTED = frozenset(
    {"model_change", "thinking_level_change", "label", "session_info", "context_edit"}
)


class EntryCounts:
    """Running totals of one log. Each entry is decoded once, because entries never change."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        known = None if log.tree.earlier is None else log.tree.earlier.facts
        self._seen = 0 if known is None else known.count
        self.totals = EntryTotals() if known is None else known.totals

    def update(self) -> EntryTotals:
        """Count the entries that were appended since the last call; returns the totals."""
        self.count_to(len(self.log.tree))
        return self.totals

    def count_to(self, end: int) -> None:
        """Count the entries before a position."""
        messages, tool_calls = Counter(self.totals.messages), self.totals.tool_calls
        tokens, cost = self.totals.tokens, self.totals.cost
        input, output, total = tokens.input, tokens.output, tokens.total
        cache_read, cache_write = tokens.cache_read, tokens.cache_write
        outlines = self.log.tree.outlines
        for position in range(self._seen, end):
            kind = outlines[position].type
            if kind in _UNCOUNTED:
                continue
            role, calls, usage = _counted(self.log, position, kind)
            if role:
                messages[role] += 1
            tool_calls += calls
            if usage is not None:
                input += usage.input
                output += usage.output
                cache_read += usage.cache_read
                cache_write += usage.cache_write
                total += usage.input + usage.output + usage.cache_read + usage.cache_write
                cost += usage.cost.total
        self._seen = max(self._seen, end)
        self.totals = EntryTotals(
            messages=dict(messages),
            tool_calls=tool_calls,
            tokens=TokenTotals(
                input=input,
                output=output,
                cache_read=cache_read,
                cache_write=cache_write,
                total=total,
            ),
            cost=cost,
        )


def _counted(log: SessionLog, position: int, kind: str) -> tuple[str, int, Usage | None]:
    """Return the role, the number of tool calls and the usage of an entry."""
    if kind == "message":
        with suppress(*UNREADABLE):
            message = _COUNTED.decode(log.line(position)).message
            if message.role in _COUNTED_ROLES:
                blocks = () if message.role != "assistant" else message.content
                calls = sum(not isinstance(b, str) and b.type == "toolCall" for b in blocks)
                is_billed = message.role in ("assistant", "toolResult")
                usage = message.usage if is_billed and message.usage is not UNSET else None
                return message.role, calls, usage
    entry = log.at(position)
    if not isinstance(entry, MessageEntry):
        return "", 0, usage_of(entry)
    message_calls = (
        len(entry.message.tool_calls) if isinstance(entry.message, AssistantMessage) else 0
    )
    return str(entry.message.__struct_config__.tag), message_calls, usage_of(entry)
