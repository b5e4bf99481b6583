"""Budgets for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from pi.batteries.timebox.core.budget import Amounts, Reading, TimeboxBudget

MINUTE = 60_000
START = 1_700_000_000_000


def at(minutes: float = 0, *, turns: int = 0, tokens: int = 0, cost: float = 0.0) -> Reading:
    """A reading ``minutes`` after the start of the budget, with these totals."""
    return {
        "time": START + round(minutes * MINUTE),
        "turns": turns,
        "tokens": tokens,
        "cost": cost,
    }


def budget(
    *,
    nudged: bool = False,
    active: bool = True,
    command: str | None = None,
    **limits: float,
) -> TimeboxBudget:
    """A budget that began at ``at(0)``."""
    return TimeboxBudget(
        limits=dict(limits),  # type: ignore[arg-type]
        start=at(),
        soft_nudge_sent=nudged,
        active=active,
        on_stop_command=command,
    )


LIMITS: st.SearchStrategy[Amounts] = st.fixed_dictionaries(  # type: ignore[assignment]
    {},
    optional={
        "time": st.integers(0, 10**9 - 1).map(lambda seconds: seconds * 1000),
        "turns": st.integers(0, 10**9 - 1),
        "tokens": st.integers(0, 10**9 - 1),
        "cost": st.integers(0, 10**6).map(lambda cents: cents / 100),
    },
).filter(bool)
READINGS: st.SearchStrategy[Reading] = st.fixed_dictionaries(
    {
        "time": st.integers(0, 2 * START),
        "turns": st.integers(0, 1000),
        "tokens": st.integers(0, 10**9),
        "cost": st.floats(0, 10**4),
    }
)
BUDGETS = st.builds(
    TimeboxBudget,
    limits=LIMITS,
    start=READINGS,
    soft_nudge_sent=st.booleans(),
    active=st.booleans(),
    on_stop_command=st.none() | st.text(min_size=1),
)
