"""Draws calls of ``job``, reports of jobs, and the screen of ``/jobs``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pi.extension import (
    CustomMessage,
    JobInfo,
    Theme,
    ToolView,
    ViewOptions,
    one_line,
    sanitise_keeping_style,
)
from pi.tui.input.keys import matches_key
from pi.tui.widgets.frame import FRAME_ROWS, framed_rows

COLLAPSED_ROWS = 5
COLOURS = {"running": "accent", "completed": "success", "failed": "error", "cancelled": "warning"}
MAX_OUTPUT_ROWS = 15
HINT = "↑↓ select · c cancel the job · Escape close"


def job(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The action and the job; the state, and the end of the output below."""
    action, id = call.arguments.get("action", "…"), call.arguments.get("job", "")
    details = call.details if isinstance(call.details, dict) else {}
    state = str(details.get("state", ""))
    title = one_line(f"{action} {id}".strip())
    if state:
        title = f"{title} {theme.fg(COLOURS.get(state, 'dim'), state)}"
    rows = sanitise_keeping_style(call.text).strip("\n").split("\n") if call.text else []
    return [title, *_fold_rows(rows, options, theme)]


def report(message: CustomMessage, options: ViewOptions, theme: Theme) -> list[str]:
    """The state of an ended job, and the end of its output; all of it when expanded."""
    text = sanitise_keeping_style(str(message.content))
    first, *rest = text.strip("\n").split("\n")
    details = message.details if isinstance(message.details, dict) else {}
    head = theme.fg(COLOURS.get(str(details.get("state", "")), "dim"), first)
    return [head, *_fold_rows([row for row in rest if row.strip()], options, theme)]


def _fold_rows(rows: Sequence[str], options: ViewOptions, theme: Theme) -> list[str]:
    if options.expanded or len(rows) <= COLLAPSED_ROWS:
        return list(rows)
    hidden = len(rows) - COLLAPSED_ROWS
    return [theme.fg("dim", f"… {hidden} earlier lines"), *rows[-COLLAPSED_ROWS:]]


class JobsScreen:
    """The list of jobs, with the output of the selected one. ``c`` cancels it."""

    def __init__(self, jobs: Any, tui: Any, theme: Theme, done: Callable[[Any], None]) -> None:
        self._jobs = jobs
        self._tui = tui
        self._theme = theme
        self._done = done
        self._selected = max(0, len(jobs.list()) - 1)
        self._on_close: Callable[[], None] = lambda: None

    def on_close(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the screen is closed."""
        self._on_close = listener

    def invalidate(self) -> None:
        """Nothing is cached."""

    def render(self, width: int) -> list[str]:
        """All jobs, and the end of the output of the selected one."""
        listed: Sequence[JobInfo] = self._jobs.list()
        rows = []
        for index, job in enumerate(listed):
            mark = self._theme.fg("accent", "→ ") if index == self._selected else "  "
            state = self._theme.fg(COLOURS[job.state], f"{job.state:<9}")
            rows.append(f"{mark}{job.id:<8}  {state}  {one_line(job.command)}")
        height: int = self._tui.terminal.size.rows
        output = self._jobs.read(listed[self._selected].id)
        lines = sanitise_keeping_style(output.text).rstrip("\n").split("\n")
        row_limit = min(MAX_OUTPUT_ROWS, max(3, height - len(rows) - FRAME_ROWS))
        rows += ["", *(f"  {line}" for line in lines[-row_limit:])]
        if output.full_output_path:
            rows.append(self._theme.fg("dim", f"  All of it: {output.full_output_path}"))
        return framed_rows(self._theme, "Background jobs", rows, HINT, width=width, height=height)

    def handle_input(self, data: str) -> None:
        """Select, cancel or close."""
        listed = self._jobs.list()
        if matches_key(data, "escape") or matches_key(data, "ctrl+c") or matches_key(data, "q"):
            self._on_close()
            self._done(None)
        elif matches_key(data, "up"):
            self._selected = max(0, self._selected - 1)
        elif matches_key(data, "down"):
            self._selected = min(len(listed) - 1, self._selected + 1)
        elif matches_key(data, "c"):
            self._jobs.cancel(listed[self._selected].id)
