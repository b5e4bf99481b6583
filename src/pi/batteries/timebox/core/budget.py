"""A budget, and what a session has used of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Dimension: TypeAlias = Literal["time", "turns", "tokens", "cost"]
"""Milliseconds; user messages, because a turn is what a person says; tokens; US dollars."""
DIMENSIONS: tuple[Dimension, ...] = ("time", "turns", "tokens", "cost")

Amounts: TypeAlias = Mapping[Dimension, float]
"""So much of each. A limit that is not there is none, an amount that is not there is 0."""
Reading: TypeAlias = Amounts
"""A session at one moment: the time since 1970, and its totals since it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeboxBudget:
    """Limits that hold from ``start`` on."""

    limits: Amounts
    start: Reading
    soft_nudge_sent: bool = False
    active: bool = True
    """Until it is spent."""
    on_stop_command: str | None = None
    """For the shell, when it is spent."""

    def used(self, reading: Reading) -> Amounts:
        """What was used since the start; never less than nothing, whatever clocks and forks do."""
        return {each: max(reading.get(each, 0) - self.start.get(each, 0), 0) for each in DIMENSIONS}

    def left(self, reading: Reading) -> Amounts:
        """What is left of each limit."""
        used = self.used(reading)
        return {each: max(limit - used[each], 0) for each, limit in self.limits.items()}

    def ratios(self, reading: Reading) -> Amounts:
        """How much of each limit is used: 1.0 is all of it."""
        used = self.used(reading)
        return {each: used[each] / limit if limit else 1.0 for each, limit in self.limits.items()}
