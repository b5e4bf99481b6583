"""Budgets in words."""

from __future__ import annotations

from collections.abc import Callable

from pi.batteries.timebox.core.budget import (
    DIMENSIONS,
    Amounts,
    Dimension,
    Reading,
    TimeboxBudget,
)


def format_time(milliseconds: float) -> str:
    """``59s``, ``1m 0s``, ``1h 1m``: the two largest units."""
    minutes, seconds = divmod(int(milliseconds) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"


def format_span(milliseconds: float) -> str:
    """As ``format_time``, without a last part that says nothing: ``15m``, ``1h``, ``1h 30m``."""
    return format_time(milliseconds).removesuffix(" 0s").removesuffix(" 0m")


def format_turns(count: float) -> str:
    """``1 turn``, ``5 turns``."""
    return "1 turn" if count == 1 else f"{count:.0f} turns"


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
    "tokens": format_tokens,
    "cost": format_cost,
}


def format_amounts(amounts: Amounts) -> str:
    """``15m, 3 turns, 200k tokens, $2.50``: what there is of these."""
    return ", ".join(FORMS[each](amounts[each]) for each in DIMENSIONS if each in amounts)


def status_line(budget: TimeboxBudget, reading: Reading) -> str:
    """``Timebox: 12m 34s left (15m budget) | 3 turns left (2/5)``."""
    limits, left = budget.limits, budget.left(reading)
    parts = ["no time limit", "no turn limit"]
    if "time" in limits:
        parts[0] = f"{format_time(left['time'])} left ({format_span(limits['time'])} budget)"
    if "turns" in limits:
        taken = f"{limits['turns'] - left['turns']:.0f}/{limits['turns']:.0f}"
        parts[1] = f"{format_turns(left['turns'])} left ({taken})"
    if "tokens" in limits:
        whole = format_tokens(limits["tokens"]).removesuffix(" tokens")
        parts.append(f"{format_tokens(left['tokens'])} left ({whole} budget)")
    if "cost" in limits:
        parts.append(f"{format_cost(left['cost'])} left ({format_cost(limits['cost'])} budget)")
    return f"Timebox: {' | '.join(parts)}"


def spent_line(budget: TimeboxBudget, used: Amounts) -> str:
    """``Timebox budget spent. Used 5 turns, 3m 2s.``, and tokens and money where they count."""
    amounts = [format_turns(used["turns"]), format_time(used["time"])]
    amounts += [FORMS[each](used[each]) for each in ("tokens", "cost") if each in budget.limits]
    return f"Timebox budget spent. Used {', '.join(amounts)}."
