"""What the entries of a session add to its numbers."""

from __future__ import annotations

from typing import NamedTuple

from pi.ai.messages import AssistantMessage, Usage
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.numbers import usage_of


class Counted(NamedTuple):
    """One entry."""

    message: type | None
    """The kind of message that it is, if it is a ``message`` entry."""
    tool_calls: int
    usage: Usage | None


class EntryCounts:
    """Of one log. Each entry is decoded once, however often somebody asks: they never change."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self._counted: list[Counted] = []

    def all(self) -> list[Counted]:
        """Of the whole file, in its order."""
        for place in range(len(self._counted), len(self.log.tree)):
            self._counted.append(_counted(self.log.at(place)))
        return self._counted


def _counted(entry: Entry) -> Counted:
    message = entry.message if isinstance(entry, MessageEntry) else None
    calls = len(message.tool_calls) if isinstance(message, AssistantMessage) else 0
    return Counted(type(message) if message is not None else None, calls, usage_of(entry))
