"""The state of the engine, asked of the session."""

from __future__ import annotations

from pi.batteries.status_engine.state import ContextWindow, GitState, StatusEngineState
from pi.extension import (
    ContextUsage,
    ExtensionContext,
    ModelSelectEvent,
    SessionCompactEvent,
    SessionTreeEvent,
    TurnEndEvent,
)

_COUNTING = (TurnEndEvent, SessionCompactEvent, SessionTreeEvent, ModelSelectEvent)
"""After these a session has cost more, and its window is fuller, emptier, or another one."""


class SessionFacts:
    """Tells all that the status is made of.

    What would have to be counted anew for every frame is kept, and looked at when it changes.
    """

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx
        self._count()

    def hear(self, event: object) -> None:
        """Take note of something that has happened."""
        if isinstance(event, _COUNTING):
            self._count()

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
            since_session_ms=ctx.since_session_ms(),
            cost_usd=self._cost,
            context=self._context,
        )

    def _count(self) -> None:
        stats = self._ctx.get_session_stats()
        self._cost = stats.cost
        self._context = _window(stats.context_usage)


def _window(usage: object) -> ContextWindow | None:
    if not isinstance(usage, ContextUsage):  # there is no model
        return None
    return ContextWindow(size=usage.context_window, used_percent=usage.percent)
