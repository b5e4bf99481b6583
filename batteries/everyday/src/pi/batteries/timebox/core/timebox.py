"""The budget of one session: takes events, returns effects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pi.batteries.timebox.core.budget import (
    DIMENSIONS,
    Dimension,
    Nudge,
    Reading,
    Stop,
    TimeboxBudget,
    Urgency,
    decide,
    format_amounts,
    remaining_text,
    spent_line,
    status_line,
    urgency,
)
from pi.batteries.timebox.core.parse import Invalid, SetBudget, ShowStatus, TurnOff, parse
from pi.batteries.timebox.core.persist import (
    Active,
    Effect,
    Notify,
    Off,
    RunOnStop,
    SaveRecord,
    TimeboxRecord,
    restore,
)

USAGE = (
    "Usage: /timebox 15m | turns:5 | requests:20 | tokens:200k | cost:2.50 | status | off."
    " Limits go together; after -- follows a command for when they are spent."
)
NONE_ACTIVE = "No active timebox."
EXPIRED = (
    "The timebox of this session is already spent and was not restored."
    " Set a new one with /timebox."
)
FOREIGN = (
    "The timebox of this session has a command that was not set on this machine. It will not run:"
)
CONTINUES = "The agent stops for this turn. The chat continues."
WRAP_UP = (
    "Finish the step you are at, leave everything in a state that can be gone on from, say in a"
    " few words what is done and what is not, and stop. Begin nothing new."
)


class Timebox:
    """Holds at most one budget. Methods return the effects to carry out, in order."""

    def __init__(self, budget: TimeboxBudget | None = None) -> None:
        self.budget = budget
        self.refusal: str | None = None
        """Why no request may be made now; ``None`` if requests are allowed."""
        self._turn_began: float | None = None
        """The count of turns before the current prompt; ``None`` between prompts."""

    # Commands of the user -------------------------------------------------------------------------

    def command(self, text: str, reading: Reading) -> list[Effect]:
        """Run ``/timebox`` with the arguments ``text``."""
        match parse(text):
            case Invalid():
                return [Notify(USAGE, "warning")]
            case ShowStatus():
                status = self.status(reading)
                return [Notify(status or f"{NONE_ACTIVE} {USAGE}", "info")]
            case TurnOff():
                return self._turn_off(reading)
            case parsed:
                return self._set(parsed, reading)

    def _turn_off(self, reading: Reading) -> list[Effect]:
        if self.budget is None:
            return [Notify(NONE_ACTIVE, "info")]
        self.forget()
        return [SaveRecord(Off(int(reading["time"]))), Notify("Timebox off.", "info")]

    def _set(self, parsed: SetBudget, reading: Reading) -> list[Effect]:
        self.forget()
        self.budget = TimeboxBudget(
            limits=parsed.limits, start=reading, on_stop_command=parsed.on_stop_command
        )
        text = f"Timebox set: {format_amounts(parsed.limits)}."
        if parsed.on_stop_command:
            text += f" When it is spent: {parsed.on_stop_command}"
        effects: list[Effect] = [SaveRecord(Active(self.budget)), Notify(text, "info")]
        if parsed.ignored:
            effects.append(
                Notify(f"Not understood: {' '.join(parsed.ignored)}. {USAGE}", "warning")
            )
        return effects

    # Events ---------------------------------------------------------------------------------------

    def session_started(
        self, records: Sequence[TimeboxRecord], reading: Reading, *, knows: Callable[[str], bool]
    ) -> list[Effect]:
        """Restore the budget of an opened or reloaded session from its ``records``, oldest first.

        Its command is dropped unless the adapter ``knows`` that the user has typed it.
        """
        restored = restore(records, reading)
        self.budget = budget = restored.budget
        if budget is None:
            return [Notify(EXPIRED, "warning")] if restored.status == "expired" else []
        effects: list[Effect] = [Notify(f"Restored. {self.status(reading)}", "info")]
        command = budget.on_stop_command
        if command is not None and not knows(command):
            self.budget = replace(budget, on_stop_command=None)
            effects.append(Notify(f"{FOREIGN} {command}", "warning"))
        return effects

    def prompt_ended(self, *, attended: bool) -> None:
        """Reset the refusal after a prompt, or before the next one.

        If the session is ``attended`` by a user, a spent budget stops only one prompt: the user was
        notified and may continue.
        """
        self._turn_began = None
        if attended:
            self.refusal = None

    def turn_started(self, reading: Reading) -> list[Effect]:
        """Check the limits at the start of a turn, which ``reading`` does not include yet.

        Only the first turn of a prompt counts: the others are tool rounds and retries.
        """
        if self._turn_began is not None:
            return []
        self._turn_began = reading["turns"]
        return self._look(reading, DIMENSIONS, turn_begins=True)

    def request_due(self, reading: Reading, among: Collection[Dimension]) -> list[Effect]:
        """Check the limits ``among`` before a request to a model."""
        return self._look(reading, among)

    def _look(
        self, reading: Reading, among: Collection[Dimension], *, turn_begins: bool = False
    ) -> list[Effect]:
        if self.budget is None:
            return []
        match decide(self.budget, reading, among=among, turn_begins=turn_begins):
            case Nudge():
                self.budget = replace(self.budget, soft_nudge_sent=True)
                remaining = remaining_text(self.budget, reading, self._turn_began)
                return [Notify(f"Timebox nearly spent: {remaining}.", "warning")]
            case Stop() as stop:
                return self._stop(self.budget, stop)
            case _:
                return []

    def forget(self) -> None:
        """Drop the budget without effects."""
        self.budget = self.refusal = None
        self._turn_began = None

    # Texts ----------------------------------------------------------------------------------------

    def status(self, reading: Reading) -> str | None:
        """Return the status line; ``None`` without a budget."""
        if self.budget is None:
            return None
        line = status_line(self.budget, reading)
        return line if self.budget.active else f"{line} | spent"

    def urgency(self, reading: Reading) -> Urgency | None:
        """Return the urgency of the warning for the model; ``None`` if there is no warning."""
        budget = self.budget
        if budget is None or not budget.active or not budget.soft_nudge_sent:
            return None
        # The last of several turns is warned about although less than 80 % is used.
        return urgency(budget, reading) or "warning"

    def warning(self, reading: Reading) -> str | None:
        """Return the warning for the model; ``None`` until the budget is nearly spent."""
        budget, level = self.budget, self.urgency(reading)
        if budget is None or level is None:
            return None
        word = "CRITICAL" if level == "critical" else "IMPORTANT"
        # Before its first turn a prompt is not counted yet, and the warning is for that prompt.
        began = reading["turns"] if self._turn_began is None else self._turn_began
        remaining = remaining_text(budget, reading, began)
        return f"{word} TIMEBOX WARNING\nBudget for this session: {remaining}. {WRAP_UP}"

    def _stop(self, budget: TimeboxBudget, stop: Stop) -> list[Effect]:
        self.budget = replace(budget, active=False)
        self.refusal = spent_line(budget, stop.used)
        # Stored, so that a spent budget is not restored after a reload.
        effects: list[Effect] = [
            Notify(f"{self.refusal} {CONTINUES}", "error"),
            SaveRecord(Active(self.budget)),
        ]
        if stop.on_stop_command is not None:
            effects.append(RunOnStop(stop.on_stop_command))
        return effects
