"""Ids and times of what is new."""

from __future__ import annotations

import os
from collections.abc import Container
from datetime import datetime

from pi.base.clock import Clock, SystemClock, iso_timestamp
from pi.base.ids import RandomBytes, short_id, uuid7
from pi.base.records import Record, field


class Stamps(Record, kw_only=False):
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
