"""The activity in the editor's border: spinner, label and elapsed time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    is_nested,
)
from pi.ai.events import TextDelta, ThinkingDelta, ToolCallStart
from pi.base.clock import Clock
from pi.base.terminal_text import one_line
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.retry import (
    AutoRetryEnd,
    AutoRetryStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)

# Spinner ------------------------------------------------------------------------------------------


FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
TICK = 0.08
"""Seconds per frame of the spinner."""


@dataclass
class Spinner:
    """The spinner and its label; extensions can change them."""

    frames: Sequence[str] = FRAMES
    """Empty for no spinner."""
    interval: float = TICK
    """Seconds per frame."""
    message: str | None = None
    """Replaces the label of the agent's work."""
    is_visible: bool = True
    is_still: bool = False
    """Whether nothing moves: no spinner."""

    def frame(self, now: float) -> str:
        """Return the current frame; empty without a spinner."""
        if self.is_still:
            return ""
        return self.frames[int(now / self.interval) % len(self.frames)] if self.frames else ""


# Activity -----------------------------------------------------------------------------------------

_WORKING = "Working"


class Activity:
    """Tracks the work in progress. ``label`` returns the text to show; empty if idle."""

    def __init__(self, clock: Clock, *, interrupt_key: Callable[[], str]) -> None:
        self.on_work: Callable[[], None] = lambda: None
        """Called when other work starts, changes or ends."""
        self.indicator = Spinner()
        self.hides_time = False
        """Whether the elapsed time is left out: a screen reader would read every second."""
        self._clock = clock
        self._interrupt_key = interrupt_key
        self._began: float | None = None
        """Start of the current run."""
        self._phase = _WORKING
        self._tools: dict[str, str] = {}
        self._retry: tuple[float, str] | None = None
        """End of the retry wait, and the number of the attempt."""
        self._compacting: float | None = None
        """Start of the current compaction."""
        self._work: list[tuple[float, list[str]]] = []
        """Other work, the latest last, each with its label."""

    @property
    def is_busy(self) -> bool:
        """Whether there is something to show."""
        is_compacting = self._compacting is not None
        return self._began is not None or is_compacting or bool(self._work)

    @property
    def is_retrying(self) -> bool:
        """Whether the run waits for a retry; a waiting compaction does not count."""
        return self._retry is not None and self._compacting is None

    @property
    def run_seconds(self) -> float:
        """Seconds since the run started; 0 without a run."""
        return 0.0 if self._began is None else self._clock.monotonic() - self._began

    def handle_event(self, event: object) -> None:
        """Handle a session event."""
        if is_nested(event):
            return
        match event:
            case MessageUpdate(assistant_message_event=change):
                self._handle_change(change)
            case AgentStart():
                self._began = self._clock.monotonic() if self._began is None else self._began
                self._phase, self._retry = _WORKING, None
            case TurnStart() | MessageEnd():
                self._phase = _WORKING
            case ToolExecutionStart(tool_call_id=id, tool_name=name):
                self._tools[id] = name
            case ToolExecutionEnd(tool_call_id=id):
                self._tools.pop(id, None)
            case AgentEnd(will_retry=False) | AgentSettled():
                self._began, self._retry = None, None
                self._tools.clear()
            case _:
                self._handle_waiting(event)

    def _handle_change(self, change: object) -> None:
        match change:
            case TextDelta():
                self._phase = "Writing"
            case ThinkingDelta():
                self._phase = "Thinking"
            case ToolCallStart(tool_name=name):
                self._phase = f"Preparing {name}"

    def _handle_waiting(self, event: object) -> None:
        match event:
            case AutoRetryStart() | SummarizationRetryScheduled():
                until = self._clock.monotonic() + event.delay_ms / 1000
                self._retry = (until, f"{event.attempt}/{event.max_attempts}")
            case AutoRetryEnd() | SummarizationRetryFinished():
                self._retry = None
            case CompactionStart():
                self._compacting = self._clock.monotonic()
            case CompactionEnd():
                self._compacting = None

    @contextmanager
    def working(self, label: str) -> Iterator[Callable[[str], None]]:
        """Show a label while work is in progress; the returned function changes it."""
        work = (self._clock.monotonic(), [label])
        self._work.append(work)
        self.on_work()

        def relabel(label: str) -> None:
            work[1][0] = label
            self.on_work()

        try:
            yield relabel
        finally:
            self._work.remove(work)
            self.on_work()

    def label(self) -> str:
        """Return the spinner and the label; empty if idle."""
        if not self.is_busy or self._is_hidden:
            return ""
        now = self._clock.monotonic()
        began, label = self._foremost(now)
        parts = [one_line(label)]
        if (seconds := int(now - began)) >= 1 and not self.hides_time:
            parts.append(format_elapsed(seconds))
        if key := self._interrupt_key():
            parts.append(f"{key} to interrupt")
        return f"{self.indicator.frame(now)} {' · '.join(parts)}"

    @property
    def _is_hidden(self) -> bool:
        """Whether the agent's work is hidden; other work is always shown."""
        return not (self.indicator.is_visible or self._work or self._compacting is not None)

    def _foremost(self, now: float) -> tuple[float, str]:
        """Return the start and the label of the current work."""
        if self._work:
            began, label = self._work[-1]
            return began, label[0]
        if self._compacting is not None:
            return self._compacting, " · ".join(filter(None, ("Compacting", self._waiting(now))))
        return now if self._began is None else self._began, self._activity_text(now)

    def _waiting(self, now: float) -> str:
        """Return the remaining retry wait, if there is one."""
        if self._retry is None:
            return ""
        until, attempt = self._retry
        return f"Retrying in {max(round(until - now), 0)}s (attempt {attempt})"

    def _activity_text(self, now: float) -> str:
        if waiting := self._waiting(now):
            return waiting
        if self.indicator.message is not None:
            return self.indicator.message
        if self._tools:
            names = list(dict.fromkeys(self._tools.values()))
            return f"Running {', '.join(names)}"
        return self._phase


def format_elapsed(seconds: int) -> str:
    """``4s``, ``1m 05s``, ``2h 03m``."""
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    return f"{seconds // 3600}h {seconds // 60 % 60:02}m"
