"""Draws the task list: the panel above the editor, and the tool call in the transcript."""

from __future__ import annotations

from collections.abc import Callable

from pi.batteries.todo.state import (
    CLOSED,
    Phases,
    Status,
    Task,
    open_tasks,
    phases_of,
    tasks_of,
)
from pi.extension import Theme, ToolView, ViewOptions, one_line

COLLAPSED = 8
"""Tasks that a collapsed tool call shows."""
PANEL = 8
"""Tasks that the panel shows."""
SIGNS: dict[Status, str] = {
    "pending": "☐",
    "in_progress": "▶",
    "completed": "✔",
    "abandoned": "✘",
}
ELLIPSIS = "…"


class TodoPanel:
    """The rows above the editor, in the colours of the current theme."""

    def __init__(self, phases: Phases, theme: Callable[[], Theme]) -> None:
        self._phases = phases
        self._theme = theme

    def render(self, width: int) -> list[str]:
        """Return a title and the tasks around the current one; the screen truncates them."""
        return [f" {row}" for row in panel(self._phases, self._theme())]


def panel(phases: Phases, theme: Theme) -> list[str]:
    """The rows of the panel; also sent to RPC clients."""
    tasks = [*tasks_of(phases)]
    if not tasks:
        return []
    closed = sum(task.status in CLOSED for _, task in tasks)
    remaining = open_tasks(phases)
    name = remaining[0][0].name if remaining else phases[-1].name
    progress = theme.fg("muted", f"{one_line(name)} · {closed}/{len(tasks)}")
    rows = [f"{theme.bold('Todo')} {progress}"]
    first = _first_shown([task for _, task in tasks])
    shown = tasks[first : first + PANEL]
    rows += [f"  {_row(task, theme)}" for _, task in shown]
    if hidden := len(tasks) - len(shown):
        rows.append(theme.fg("dim", f"  {ELLIPSIS} {hidden} more; /todo shows all"))
    return rows


def _first_shown(tasks: list[Task]) -> int:
    """The first row of a window that contains the first open task."""
    current = next((n for n, task in enumerate(tasks) if task.status not in CLOSED), len(tasks))
    return max(min(current - 2, len(tasks) - PANEL), 0)


def _row(task: Task, theme: Theme) -> str:
    text = f"{SIGNS[task.status]} {one_line(task.content)}"
    match task.status:
        case "in_progress":
            return theme.fg("accent", text)
        case "completed":
            return theme.fg("success", text)
        case "abandoned":
            return theme.fg("dim", text)
        case _:
            return text


def todo(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The tool call with its result as one tree of phases; ``None`` before there is a result."""
    phases = phases_of(view.details)
    if view.state != "done" or phases is None:
        return None
    tasks = [*tasks_of(phases)]
    closed = sum(task.status in CLOSED for _, task in tasks)
    rows = [theme.fg("muted", f"{closed}/{len(tasks)}" if tasks else "empty")]
    limit = len(tasks) if options.expanded else COLLAPSED
    remaining = limit
    for phase in phases:
        if remaining <= 0:
            break
        rows.append(theme.fg("muted", one_line(phase.name)))
        rows += [f"  {_row(task, theme)}" for task in phase.tasks[:remaining]]
        remaining -= len(phase.tasks)
    if (hidden := len(tasks) - limit) > 0:
        rows.append(theme.fg("dim", f"{ELLIPSIS} {hidden} more"))
    return rows
