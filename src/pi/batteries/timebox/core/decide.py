"""Whether a budget is fine, nearly spent, or spent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi.batteries.timebox.core.budget import (
    DIMENSIONS,
    Amounts,
    Dimension,
    Reading,
    TimeboxBudget,
)
from pi.batteries.timebox.core.format import format_amounts

Urgency: TypeAlias = Literal["warning", "critical"]

WARNING, CRITICAL, SPENT = 0.8, 0.95, 1.0
"""Parts of a limit."""


@dataclass(frozen=True, slots=True)
class Ok:
    """Nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """It is time to wrap up."""

    urgency: Urgency
    detail: str
    """What is left."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A limit is reached."""

    used: Amounts
    on_stop_command: str | None


Decision: TypeAlias = Ok | Nudge | Stop


def decide(
    budget: TimeboxBudget,
    reading: Reading,
    *,
    among: Collection[Dimension] = DIMENSIONS,
    turn_begins: bool = False,
) -> Decision:
    """What is to be done now: whichever limit is nearest counts, of those ``among``.

    With ``turn_begins`` a turn that is not in ``reading`` yet is about to begin.
    """
    if not budget.active:
        return Ok()
    worst = _worst(budget, reading, among)
    if worst >= SPENT:
        return Stop(budget.used(reading), budget.on_stop_command)
    is_near = worst >= WARNING or (turn_begins and _is_last_turn(budget, reading))
    if is_near and not budget.soft_nudge_sent:
        return Nudge(_urgency(worst), format_amounts(budget.left(reading)))
    return Ok()


def urgency(budget: TimeboxBudget, reading: Reading) -> Urgency | None:
    """How urgent it is to wrap up; ``None`` when it is not."""
    worst = _worst(budget, reading)
    return _urgency(worst) if worst >= WARNING else None


def _worst(
    budget: TimeboxBudget, reading: Reading, among: Collection[Dimension] = DIMENSIONS
) -> float:
    ratios = budget.ratios(reading)
    return max((ratio for each, ratio in ratios.items() if each in among), default=0.0)


def _is_last_turn(budget: TimeboxBudget, reading: Reading) -> bool:
    """Whether one turn is left of several.

    Below five turns no count reaches 80 % before the last one, so without this a budget of two
    would stop without a warning. The only turn of a budget of one is no time to wrap up.
    """
    return budget.used(reading)["turns"] >= 1 and budget.left(reading).get("turns") == 1


def _urgency(worst: float) -> Urgency:
    return "critical" if worst >= CRITICAL else "warning"
