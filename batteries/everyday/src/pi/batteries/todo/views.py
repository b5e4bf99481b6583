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
from pi.extension import (
    CustomMessage,
    Theme,
    ToolView,
    ViewOptions,
    one_line,
    sanitise_keeping_style,
)

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

    def __init__(self, phases: Phases, hidden: frozenset[str], theme: Callable[[], Theme]) -> None:
        self._phases = phases
        self._hidden = hidden
        self._theme = theme

    def render(self, width: int) -> list[str]:
        """Return a title and the tasks around the current one; the screen truncates them."""
        return [f" {row}" for row in panel(self._phases, self._hidden, self._theme())]


def panel(phases: Phases, hidden: frozenset[str], theme: Theme) -> list[str]:
    """The rows of the panel; also sent to RPC clients. ``hidden`` tasks are only counted."""
    tasks = [*tasks_of(phases)]
    visible = [task for _, task in tasks if task.content not in hidden]
    if not visible:
        return []
    closed = sum(task.status in CLOSED for _, task in tasks)
    remaining = open_tasks(phases)
    name = remaining[0][0].name if remaining else phases[-1].name
    progress = theme.fg("muted", f"{one_line(name)} · {closed}/{len(tasks)}")
    rows = [f"{theme.bold('Todo')} {progress}"]
    first = _first_shown(visible)
    window = visible[first : first + PANEL]
    rows += [f"  {_row(task, theme)}" for task in window]
    if more := len(visible) - len(window):
        rows.append(theme.fg("dim", f"  {ELLIPSIS} {more} more; /todo shows all"))
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


def reminder(message: CustomMessage, options: ViewOptions, theme: Theme) -> list[str]:
    """One line; the whole text when expanded."""
    if options.expanded:
        rows = sanitise_keeping_style(str(message.content)).strip("\n").split("\n")
        return [theme.fg("dim", row) for row in rows]
    details = message.details if isinstance(message.details, dict) else {}
    count = details.get("open")
    tasks = "an open task" if not isinstance(count, int) else f"{count} open tasks"
    tasks = "1 open task" if count == 1 else tasks
    return [theme.fg("dim", f"The model is reminded of {tasks}.")]


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
