"""What a status command is told on its standard input. Pure.

The object of the status engine's own text, and every field that scripts written for Claude Code
read. What is not known is left out.
"""

from __future__ import annotations

import json
from typing import Any

from pi.batteries.status_engine.state import ContextWindow, GitState, StatusEngineState


def payload(state: StatusEngineState, *, total_duration_ms: int, version: str) -> bytes:
    """One line of JSON."""
    told: dict[str, Any] = {
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
    known = {name: value for name, value in told.items() if value not in ("", {})}
    return json.dumps(known, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _git(git: GitState) -> dict[str, Any]:
    told = {"branch": git.branch or None, "+": git.added, "-": git.removed}
    return {name: value for name, value in told.items() if value is not None}


def _context(window: ContextWindow | None) -> dict[str, Any]:
    if window is None:
        return {}
    told: dict[str, Any] = {"context_window_size": window.size}
    if window.used_percent is not None:
        told["used_percentage"] = round(window.used_percent, 1)
        told["remaining_percentage"] = round(100 - window.used_percent, 1)
    return told
