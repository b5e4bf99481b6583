"""Stored records of budgets, and the effects that adapters carry out.

The records have the format of the original program, with added fields. The core returns effects
instead of acting, so that it behaves the same in every program:

| effect | pi | Claude Code |
|---|---|---|
| ``Notify`` | ``ctx.ui.notify`` | ``systemMessage``, or the reason of a blocked prompt |
| ``SaveRecord`` | an entry of the session | a record in its state file |
| ``RunOnStop`` | a detached shell | a detached shell |
| ``Timebox.refusal`` | ``StopRun`` before the request | a blocked prompt |
| ``Timebox.warning`` | the system prompt | ``additionalContext`` |
| ``status_line`` | the status line | ``systemMessage`` when Claude stops |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pi.batteries.timebox.core.budget import Dimension, Reading, TimeboxBudget, urgency

Json: TypeAlias = dict[str, Any]

FIELDS: dict[Dimension, tuple[str, str]] = {
    "time": ("timeLimitMs", "startTime"),
    "turns": ("turnLimit", "startTurn"),
    "requests": ("requestLimit", "startRequests"),
    "tokens": ("tokenLimit", "startTokens"),
    "cost": ("costLimit", "startCost"),
}
"""Field names of limit and start per dimension."""
ORIGINAL: tuple[Dimension, ...] = ("time", "turns")
"""Dimensions in the format of the original program, which are always written."""


@dataclass(frozen=True, slots=True)
class Active:
    """This budget applies from here on."""

    budget: TimeboxBudget


@dataclass(frozen=True, slots=True)
class Off:
    """No budget applies from here on."""

    disabled_at: int


TimeboxRecord: TypeAlias = Active | Off


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of reading the records of a session."""

    status: Literal["none", "expired", "restored"]
    budget: TimeboxBudget | None = None


def restore(records: Sequence[TimeboxRecord], reading: Reading) -> Restored:
    """Return the current budget: the newest record decides."""
    match records[-1] if records else None:
        case Active(budget):
            if not budget.active or budget.ratios(reading).get("time", 0.0) >= 1.0:
                return Restored("expired")
            nudged = urgency(budget, reading) is not None
            return Restored("restored", replace(budget, soft_nudge_sent=nudged))
        case _:
            return Restored("none")


def budget_to_json(budget: TimeboxBudget) -> Json:
    """Return ``budget`` as JSON."""
    fields = [field for field in FIELDS if field in ORIGINAL or field in budget.limits]
    names = {field: FIELDS[field] for field in fields}
    return {
        **{limit: budget.limits.get(field) for field, (limit, _) in names.items()},
        **{start: budget.start.get(field, 0) for field, (_, start) in names.items()},
        "softNudgeSent": budget.soft_nudge_sent,
        "active": budget.active,
        "onStopCommand": budget.on_stop_command,
    }


def budget_from_json(data: object) -> TimeboxBudget | None:
    """Return the budget in ``data``; ``None`` if it is invalid. The data is untrusted."""
    if not isinstance(data, Mapping):
        return None
    limits = {
        field: data[name] for field, (name, _) in FIELDS.items() if _is_amount(data.get(name))
    }
    start = {field: data[name] for field, (_, name) in FIELDS.items() if _is_amount(data.get(name))}
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
    """Return ``record`` as JSON that includes its type."""
    if isinstance(record, Active):
        return {"kind": "active", "budget": budget_to_json(record.budget)}
    return {"kind": "off", "disabledAt": record.disabled_at}


def record_from_json(data: object) -> TimeboxRecord | None:
    """Return the record in ``data``; ``None`` if it is invalid."""
    match data:
        case {"kind": "active", "budget": stored}:
            budget = budget_from_json(stored)
            return None if budget is None else Active(budget)
        case {"kind": "off", "disabledAt": int() | float() as disabled_at}:
            return Off(int(disabled_at))
        case _:
            return None


def _is_amount(value: object) -> bool:
    # Python's JSON allows NaN and infinity, which break comparisons.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63


Level: TypeAlias = Literal["info", "warning", "error"]
"""The levels that every program supports."""


@dataclass(frozen=True, slots=True)
class Notify:
    """Show a message to the user."""

    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class SaveRecord:
    """Store this record, so that it survives a reload."""

    record: TimeboxRecord


@dataclass(frozen=True, slots=True)
class RunOnStop:
    """Run this command in a detached shell that outlives the program."""

    command: str


Effect: TypeAlias = Notify | SaveRecord | RunOnStop
