"""A budget: used and remaining amounts, texts about them, and when to warn or stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Dimension: TypeAlias = Literal["time", "turns", "requests", "tokens", "cost"]
"""Milliseconds; turns, i.e. user messages; answers of the model; tokens; US dollars."""
DIMENSIONS: tuple[Dimension, ...] = ("time", "turns", "requests", "tokens", "cost")

Amounts: TypeAlias = Mapping[Dimension, float]
"""An amount per dimension. A missing limit means unlimited, a missing amount means 0."""
Reading: TypeAlias = Amounts
"""Totals of a session at one moment; ``time`` is the time since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeboxBudget:
    """Limits that apply from ``start`` on."""

    limits: Amounts
    start: Reading
    soft_nudge_sent: bool = False
    active: bool = True
    """False once it is spent."""
    on_stop_command: str | None = None
    """Shell command to run when it is spent."""

    def used(self, reading: Reading) -> Amounts:
        """Return the amounts used since the start.

        Never negative, although clocks and forks can go back.
        """
        return {
            dimension: max(reading.get(dimension, 0) - self.start.get(dimension, 0), 0)
            for dimension in DIMENSIONS
        }

    def remaining(self, reading: Reading) -> Amounts:
        """Return the remaining amount of each limit."""
        used = self.used(reading)
        return {
            dimension: max(limit - used[dimension], 0) for dimension, limit in self.limits.items()
        }

    def ratios(self, reading: Reading) -> Amounts:
        """Return the used fraction of each limit; 1.0 means all."""
        used = self.used(reading)
        # Rounded: ten costs of 0.1 add up to 0.9999999999999999, which would allow an eleventh.
        return {
            dimension: round(used[dimension] / limit, 9) if limit else 1.0
            for dimension, limit in self.limits.items()
        }


def format_time(milliseconds: float) -> str:
    """``59s``, ``1m 0s``, ``1h 1m``: the two largest units."""
    minutes, seconds = divmod(int(milliseconds) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"


def format_span(milliseconds: float) -> str:
    """Like ``format_time``, without a trailing zero: ``15m``, ``1h``, ``1h 30m``."""
    return format_time(milliseconds).removesuffix(" 0s").removesuffix(" 0m")


def format_turns(count: float) -> str:
    """``1 turn``, ``5 turns``."""
    return "1 turn" if count == 1 else f"{count:.0f} turns"


def format_requests(count: float) -> str:
    """``1 request``, ``20 requests``."""
    return "1 request" if count == 1 else f"{count:.0f} requests"


def format_tokens(count: float) -> str:
    """``950 tokens``, ``1.2k tokens``, ``200k tokens``, ``1.5M tokens``; never rounded up."""
    for unit, name in ((1_000_000, "M"), (1000, "k")):
        if count >= unit:
            tenths = int(count * 10) // unit
            return f"{tenths / 10:g}{name} tokens"
    return f"{count:.0f} tokens"


def format_cost(dollars: float) -> str:
    """``$2.50``."""
    return f"${dollars:.2f}"


FORMS: dict[Dimension, Callable[[float], str]] = {
    "time": format_span,
    "turns": format_turns,
    "requests": format_requests,
    "tokens": format_tokens,
    "cost": format_cost,
}


def format_amounts(amounts: Amounts) -> str:
    """``15m, 3 turns, 200k tokens, $2.50``: the amounts that are present."""
    return ", ".join(
        FORMS[dimension](amounts[dimension]) for dimension in DIMENSIONS if dimension in amounts
    )


def remaining_text(budget: TimeboxBudget, reading: Reading, turn_began: float | None) -> str:
    """``3m left``; in a turn ``1 turn after this one, 3m left`` or ``this turn is the last``.

    ``turn_began`` is the count of turns before the current turn, which the status line shows as
    used; ``None`` between turns.
    """
    remaining = dict(budget.remaining(reading))
    if turn_began is None or "turns" not in remaining:
        return f"{format_amounts(remaining)} left"
    remaining.pop("turns")
    after = budget.remaining({**reading, "turns": turn_began + 1})["turns"]
    parts = [f"{format_turns(after)} after this one" if after else "this turn is the last"]
    return ", ".join([*parts, f"{format_amounts(remaining)} left"] if remaining else parts)


def status_line(budget: TimeboxBudget, reading: Reading) -> str:
    """``Timebox: 12m 34s left (15m budget) | 3 turns left (2/5)``."""
    limits, remaining = budget.limits, budget.remaining(reading)
    parts = ["no time limit", "no turn limit"]
    if "time" in limits:
        parts[0] = f"{format_time(remaining['time'])} left ({format_span(limits['time'])} budget)"
    if "turns" in limits:
        turns = f"{limits['turns'] - remaining['turns']:.0f}/{limits['turns']:.0f}"
        parts[1] = f"{format_turns(remaining['turns'])} left ({turns})"
    if "requests" in limits:
        parts.append(
            f"{format_requests(remaining['requests'])} left ({limits['requests']:.0f} budget)"
        )
    if "tokens" in limits:
        total = format_tokens(limits["tokens"]).removesuffix(" tokens")
        parts.append(f"{format_tokens(remaining['tokens'])} left ({total} budget)")
    if "cost" in limits:
        parts.append(
            f"{format_cost(remaining['cost'])} left ({format_cost(limits['cost'])} budget)"
        )
    return f"Timebox: {' | '.join(parts)}"


def spent_line(budget: TimeboxBudget, used: Amounts) -> str:
    """``Timebox budget spent. Used 5 turns, 3m 2s.``, with tokens and cost if they are limited."""
    amounts = [format_turns(used["turns"]), format_time(used["time"])]
    amounts += [
        FORMS[dimension](used[dimension])
        for dimension in ("requests", "tokens", "cost")
        if dimension in budget.limits
    ]
    return f"Timebox budget spent. Used {', '.join(amounts)}."


Urgency: TypeAlias = Literal["warning", "critical"]

WARNING, CRITICAL, SPENT = 0.8, 0.95, 1.0
"""Used fractions of a limit from which the urgency applies, or the budget is spent."""


@dataclass(frozen=True, slots=True)
class Ok:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """The agent should wrap up."""

    urgency: Urgency
    detail: str
    """The remaining amounts, as text."""


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
    """Decide by the limit that is nearest, among those in ``among``.

    With ``turn_begins`` a turn is about to start that ``reading`` does not include yet.
    """
    if not budget.active:
        return Ok()
    worst = _worst(budget, reading, among)
    if worst >= SPENT:
        return Stop(budget.used(reading), budget.on_stop_command)
    is_near = worst >= WARNING or (turn_begins and _is_last_turn(budget, reading))
    if is_near and not budget.soft_nudge_sent:
        return Nudge(_urgency(worst), format_amounts(budget.remaining(reading)))
    return Ok()


def urgency(budget: TimeboxBudget, reading: Reading) -> Urgency | None:
    """Return how urgent it is to wrap up; ``None`` if it is not."""
    worst = _worst(budget, reading)
    return _urgency(worst) if worst >= WARNING else None


def _worst(
    budget: TimeboxBudget, reading: Reading, among: Collection[Dimension] = DIMENSIONS
) -> float:
    ratios = budget.ratios(reading)
    return max((ratio for dimension, ratio in ratios.items() if dimension in among), default=0.0)


def _is_last_turn(budget: TimeboxBudget, reading: Reading) -> bool:
    """Whether one turn is left of several.

    Below five turns no count reaches 80 % before the last turn, so without this a budget of two
    turns would stop without a warning. A budget of one turn has no such warning.
    """
    return budget.used(reading)["turns"] >= 1 and budget.remaining(reading).get("turns") == 1


def _urgency(worst: float) -> Urgency:
    return "critical" if worst >= CRITICAL else "warning"
