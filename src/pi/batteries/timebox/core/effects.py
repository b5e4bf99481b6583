"""What a host does for the timebox.

The core tells hosts what to do instead of doing it, so that the same decisions hold everywhere:

| the core gives | pi | Claude Code |
|---|---|---|
| ``Notify`` | ``ctx.ui.notify`` | ``systemMessage``, or the reason of a blocked prompt |
| ``Keep`` | an entry of the session | a record in its state file |
| ``RunOnStop`` | a detached shell | a detached shell |
| ``Timebox.refusal`` | ``StopRun`` before the request | a blocked prompt |
| ``Timebox.warning`` | the system prompt | ``additionalContext`` |
| ``status_line`` | the status line | ``systemMessage`` when Claude stops |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi.batteries.timebox.core.persist import TimeboxRecord

Level: TypeAlias = Literal["info", "warning", "error"]
"""What every host can tell apart."""


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell the person."""

    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class Keep:
    """Have this record from now on, also after a reload."""

    record: TimeboxRecord


@dataclass(frozen=True, slots=True)
class RunOnStop:
    """Give this to a shell and forget it: it lives on when the host ends."""

    command: str


Effect: TypeAlias = Notify | Keep | RunOnStop
