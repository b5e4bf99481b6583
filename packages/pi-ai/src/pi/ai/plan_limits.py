"""Reads the limits of a plan from response headers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pi.base.records import Record


class PlanLimit(Record):
    """One limit of a plan."""

    name: str
    """``5 hours``, ``7 days``."""
    used_percent: float
    resets_at: float | None = None
    """Seconds since 1970."""


def plan_limits(headers: Mapping[str, str], *, now: float) -> tuple[PlanLimit, ...]:
    """Return the limits that a response reports; empty if it reports none.

    Anthropic reports shares of the last five hours and seven days to users of a plan, ChatGPT two
    windows with their lengths. Limits per minute, which every key has, are not plans.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    return (*_anthropic(lower), *_codex(lower, now))


def _anthropic(headers: Mapping[str, str]) -> list[PlanLimit]:
    limits = []
    for window, name in (("5h", "5 hours"), ("7d", "7 days")):
        prefix = f"anthropic-ratelimit-unified-{window}"
        used = _number(headers.get(f"{prefix}-utilization"))
        if used is not None:
            resets = _number(headers.get(f"{prefix}-reset"))
            limits.append(PlanLimit(name=name, used_percent=used * 100, resets_at=resets))
    return limits


def _codex(headers: Mapping[str, str], now: float) -> list[PlanLimit]:
    limits = []
    for window in ("primary", "secondary"):
        used = _number(headers.get(f"x-codex-{window}-used-percent"))
        minutes = _number(headers.get(f"x-codex-{window}-window-minutes"))
        if used is None or not minutes:
            continue
        resets = _number(headers.get(f"x-codex-{window}-reset-at"))
        after = _number(headers.get(f"x-codex-{window}-reset-after-seconds"))
        if resets is None and after is not None:
            resets = now + after
        limits.append(PlanLimit(name=_length(minutes), used_percent=used, resets_at=resets))
    return limits


def _length(minutes: float) -> str:
    hours = round(minutes / 60)
    return f"{hours} hours" if hours < 48 else f"{round(hours / 24)} days"


def _number(text: str | None) -> float | None:
    """Return a number from 0 up; ``None`` for anything else that a header may contain."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
