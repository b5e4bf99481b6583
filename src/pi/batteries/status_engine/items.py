"""The catalogue of line 2: what each item says about a state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pi.batteries.status_engine.state import StatusEngineState

StatusItem: TypeAlias = Literal[
    "model",
    "effort",
    "workspace_name",
    "git_branch",
    "git_counts",
    "sandbox",
    "approval",
    "duration",
]

DEFAULT_ITEMS: tuple[StatusItem, ...] = (
    "model",
    "effort",
    "workspace_name",
    "git_branch",
    "git_counts",
    "sandbox",
    "approval",
)


def _counts(state: StatusEngineState) -> str:
    if state.git.added is None or state.git.removed is None:
        return ""
    return f"+{state.git.added} -{state.git.removed}"


def _duration(state: StatusEngineState) -> str:
    minutes, seconds = divmod(state.since_session_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


CATALOGUE: Mapping[StatusItem, Callable[[StatusEngineState], str]] = {
    "model": lambda state: state.model,
    "effort": lambda state: state.effort,
    "workspace_name": lambda state: state.workspace_name,
    "git_branch": lambda state: state.git.branch,
    "git_counts": _counts,
    "sandbox": lambda state: state.sandbox,
    "approval": lambda state: state.approval,
    "duration": _duration,
}
"""What each item says; an empty text is left out."""
