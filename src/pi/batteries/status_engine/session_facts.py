"""The state of the engine, asked of the session."""

from __future__ import annotations

from pi.batteries.status_engine.state import ContextWindow, GitState, StatusEngineState
from pi.batteries.status_engine.timing import Stopwatch
from pi.extension import (
    ExtensionContext,
    MessageEndEvent,
    ModelSelectEvent,
    SessionCompactEvent,
    SessionTreeEvent,
    TurnEndEvent,
    Usage,
)

_FILLING = (TurnEndEvent, SessionCompactEvent, SessionTreeEvent, ModelSelectEvent)
"""After these the window is fuller, emptier, or another one."""


class SessionFacts:
    """Adds up what the session costs, and tells all that the status is made of.

    What would have to be counted anew for every frame is kept, and looked at when it changes.
    """

    def __init__(self, ctx: ExtensionContext, stopwatch: Stopwatch) -> None:
        self._ctx = ctx
        self._stopwatch = stopwatch
        self._cost = sum(map(_spent, ctx.session_manager.get_entries()))
        self._context = self._look_at_context()

    def hear(self, event: object) -> None:
        """Take note of something that has happened."""
        match event:
            case MessageEndEvent():
                self._cost += _spent(event)
            case SessionCompactEvent(compaction_entry=entry):
                self._cost += _spent(entry)
        if isinstance(event, _FILLING):
            self._context = self._look_at_context()

    def state(self, git: GitState) -> StatusEngineState:
        """What is so now."""
        ctx, model = self._ctx, self._ctx.model
        facts = ctx.ui.facts
        return StatusEngineState(
            session_id=ctx.session_manager.get_session_id(),
            transcript_path=ctx.session_manager.get_session_file() or "",
            cwd=str(ctx.cwd),
            model=model.id if model else "",
            model_name=model.name if model else "",
            effort=ctx.thinking_level if model and model.reasoning else "",
            sandbox=facts.get("sandbox", ""),
            approval=facts.get("approval", ""),
            git=git,
            since_session_ms=self._stopwatch.milliseconds(),
            cost_usd=self._cost,
            context=self._context,
        )

    def _look_at_context(self) -> ContextWindow | None:
        usage = self._ctx.get_context_usage()
        if usage is None:
            return None
        return ContextWindow(size=usage.context_window, used_percent=usage.percent)


def _spent(thing: object) -> float:
    """US dollars that an entry, or the message in it, has cost."""
    inner = getattr(thing, "message", thing)
    usage = getattr(inner, "usage", None)
    return usage.cost.total if isinstance(usage, Usage) else 0.0
