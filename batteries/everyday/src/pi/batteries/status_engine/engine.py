"""``StatusEngine``: turns a state and the time into two lines.

``payload`` returns the standard input of a status command: the engine's own fields, and the fields
that scripts for Claude Code read. Unknown values are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.items import (
    ContextWindow,
    GitState,
    StatusEngineState,
    StatusItem,
    TextMetrics,
    compose,
)
from pi.batteries.status_engine.sources import ThrottledSource
from pi.extension import Record, replace


def payload(state: StatusEngineState, *, total_duration_ms: int, version: str) -> bytes:
    """Return the state as one line of JSON."""
    fields: dict[str, Any] = {
        "hook_event_name": "Status",
        "session_id": state.session_id,
        "transcript_path": state.transcript_path,
        "cwd": state.cwd,
        "version": version,
        "model": {"id": state.model, "display_name": state.model_name or state.model},
        "effort": state.effort,
        "workspace": {
            "current_dir": state.cwd,
            "project_dir": state.cwd,
            "name": state.workspace_name,
        },
        "sandbox": state.sandbox,
        "approval": state.approval,
        "output_style": {"name": "default"},
        "timing": {"since_session_ms": state.since_session_ms},
        "cost": {"total_cost_usd": state.cost_usd, "total_duration_ms": total_duration_ms},
        "git": _git(state.git),
        "context_window": _context(state.context),
    }
    non_empty = {name: value for name, value in fields.items() if value not in ("", {})}
    return json.dumps(non_empty, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _git(git: GitState) -> dict[str, Any]:
    fields = {"branch": git.branch or None, "+": git.added, "-": git.removed}
    return {name: value for name, value in fields.items() if value is not None}


def _context(window: ContextWindow | None) -> dict[str, Any]:
    if window is None:
        return {}
    fields: dict[str, Any] = {"context_window_size": window.size}
    if window.used_percent is not None:
        fields["used_percentage"] = round(window.used_percent, 1)
        fields["remaining_percentage"] = round(100 - window.used_percent, 1)
    return fields


class StatusOutput(Record):
    """The lines below line 1."""

    line2: str = ""
    line3: str | None = None


class StatusEngine:
    """Composes the lines as plain strings.

    ``sources`` of line 3 are in order of precedence: the first with a line is shown. Nothing here
    blocks: a source runs in the background, and a later tick uses its line.
    """

    def __init__(
        self,
        config: StatusEngineConfig,
        sources: Sequence[ThrottledSource] = (),
        *,
        text: TextMetrics | None = None,
        version: str = "",
    ) -> None:
        self._sources = tuple(sources)
        self._text = text or TextMetrics()
        self._version = version
        self._items = config.items
        self._state = StatusEngineState()
        self._total_duration_ms = 0

    @property
    def state(self) -> StatusEngineState:
        """The last state that was set."""
        return self._state

    @property
    def line2_selection(self) -> tuple[StatusItem, ...]:
        """The items of line 2, in order."""
        return self._items

    @property
    def total_duration_ms(self) -> int:
        """The greatest ``since_session_ms`` of this session."""
        return self._total_duration_ms

    def set_state(self, state: StatusEngineState) -> None:
        """Set the state. Sources are refreshed if anything but the time has changed."""
        before, self._state = self._state, state
        if state.session_id != before.session_id:
            self._total_duration_ms = 0
        self._total_duration_ms = max(self._total_duration_ms, state.since_session_ms)
        if replace(before, since_session_ms=state.since_session_ms) != state:
            self.mark_stale()

    def set_line2_selection(self, items: Sequence[StatusItem]) -> None:
        """Select the items of line 2, in order."""
        self._items = tuple(dict.fromkeys(items))

    def mark_stale(self) -> None:
        """Mark all sources as outdated."""
        for source in self._sources:
            source.mark_stale()

    def tick(self, now: float, width: int) -> StatusOutput:
        """Return the lines for ``width`` columns; ``now`` is in seconds of a monotonic clock."""
        for source in self._sources:
            source.poll(now, self._payload)
        lines = (self._text.styled(source.line) for source in self._sources if source.line)
        return StatusOutput(
            line2=compose(self._items, self._state, width, self._text),
            line3=next((line for line in lines if line), None),
        )

    def _payload(self) -> bytes:
        total = self._total_duration_ms
        return payload(self._state, total_duration_ms=total, version=self._version)
