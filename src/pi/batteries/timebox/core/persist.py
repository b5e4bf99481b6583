"""Budgets as records that are kept, and back. The form is the original's, with fields added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pi.batteries.timebox.core.budget import Dimension, Reading, TimeboxBudget, urgency

Json: TypeAlias = dict[str, Any]

FIELDS: dict[Dimension, tuple[str, str]] = {
    "time": ("timeLimitMs", "startTime"),
    "turns": ("turnLimit", "startTurn"),
    "tokens": ("tokenLimit", "startTokens"),
    "cost": ("costLimit", "startCost"),
}
"""What limit and start of each are called."""
ORIGINAL: tuple[Dimension, ...] = ("time", "turns")
"""Of those that the original knows, which are always written."""


@dataclass(frozen=True, slots=True)
class Active:
    """From here on this budget holds."""

    budget: TimeboxBudget


@dataclass(frozen=True, slots=True)
class Off:
    """From here on none does."""

    disabled_at: int


TimeboxRecord: TypeAlias = Active | Off


@dataclass(frozen=True, slots=True)
class Restored:
    """What the records of a session come to."""

    status: Literal["none", "expired", "restored"]
    budget: TimeboxBudget | None = None


def restore(records: Sequence[TimeboxRecord], reading: Reading) -> Restored:
    """The budget that holds now: the newest record decides."""
    match records[-1] if records else None:
        case Active(budget):
            if not budget.active or budget.ratios(reading).get("time", 0.0) >= 1.0:
                return Restored("expired")
            nudged = urgency(budget, reading) is not None
            return Restored("restored", replace(budget, soft_nudge_sent=nudged))
        case _:
            return Restored("none")


def budget_to_json(budget: TimeboxBudget) -> Json:
    """``budget`` as it is kept."""
    kept = [each for each in FIELDS if each in ORIGINAL or each in budget.limits]
    names = {each: FIELDS[each] for each in kept}
    return {
        **{limit: budget.limits.get(each) for each, (limit, _) in names.items()},
        **{start: budget.start.get(each, 0) for each, (_, start) in names.items()},
        "softNudgeSent": budget.soft_nudge_sent,
        "active": budget.active,
        "onStopCommand": budget.on_stop_command,
    }


def budget_from_json(data: object) -> TimeboxBudget | None:
    """The budget that ``data`` is; ``None`` if it is none, whoever has written it."""
    if not isinstance(data, Mapping):
        return None
    limits = {each: data[name] for each, (name, _) in FIELDS.items() if _is_amount(data.get(name))}
    start = {each: data[name] for each, (_, name) in FIELDS.items() if _is_amount(data.get(name))}
    if not limits or not limits.keys() <= start.keys():
        return None
    command = data.get("onStopCommand")
    return TimeboxBudget(
        limits=limits,
        start=start,
        soft_nudge_sent=data.get("softNudgeSent") is True,
        active=data.get("active") is not False,
        on_stop_command=command if isinstance(command, str) and command else None,
    )


def record_to_json(record: TimeboxRecord) -> Json:
    """``record`` where nothing around it says what it is."""
    if isinstance(record, Active):
        return {"kind": "active", "budget": budget_to_json(record.budget)}
    return {"kind": "off", "disabledAt": record.disabled_at}


def record_from_json(data: object) -> TimeboxRecord | None:
    """The record that ``data`` is; ``None`` if it is none."""
    match data:
        case {"kind": "active", "budget": kept}:
            budget = budget_from_json(kept)
            return None if budget is None else Active(budget)
        case {"kind": "off", "disabledAt": int() | float() as disabled_at}:
            return Off(int(disabled_at))
        case _:
            return None


def _is_amount(value: object) -> bool:
    # JSON of Python may hold NaN and infinity, which nothing can be compared with.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63


# What a host does for the timebox.
#
# The core tells hosts what to do instead of doing it, so that the same decisions hold everywhere:
#
# | the core gives | pi | Claude Code | |---|---|---| | ``Notify`` | ``ctx.ui.notify`` |
# ``systemMessage``, or the reason of a blocked prompt | | ``SaveRecord`` | an entry of the
# session | a
# record in its state file | | ``RunOnStop`` | a detached shell | a detached shell | |
# ``Timebox.refusal`` | ``StopRun`` before the request | a blocked prompt | | ``Timebox.warning``
# | the system prompt | ``additionalContext`` | | ``status_line`` | the status line |
# ``systemMessage`` when Claude stops |


Level: TypeAlias = Literal["info", "warning", "error"]
"""What every host can tell apart."""


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell the person."""

    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class SaveRecord:
    """Have this record from now on, also after a reload."""

    record: TimeboxRecord


@dataclass(frozen=True, slots=True)
class RunOnStop:
    """Give this to a shell and forget it: it lives on when the host ends."""

    command: str


Effect: TypeAlias = Notify | SaveRecord | RunOnStop
