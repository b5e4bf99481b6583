"""Draws calls of ``lsp``, late diagnostics, and the screen of ``/lsp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pi.extension import (
    CustomMessage,
    Json,
    Theme,
    ToolView,
    ViewOptions,
    one_line,
    sanitise_keeping_style,
)
from pi.tui.input.keys import matches_key
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.frame import FRAME_ROWS, framed_rows

COLLAPSED_ROWS = 8
COLOURS = {"ready": "success", "starting": "accent", "failed": "error", "stopped": "dim"}
HINT = "↑↓ scroll · r restart all · Escape close"


def call(view: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The action and its subject; the result below."""
    arguments = view.arguments
    parts = [str(arguments.get("action", "…"))]
    for name in ("file", "symbol", "query", "new_name"):
        if value := arguments.get(name):
            parts.append(str(value))
    rows = sanitise_keeping_style(view.text).strip("\n").split("\n") if view.text else []
    return [
        one_line(" ".join(parts)),
        *_folded([_coloured(row, theme) for row in rows], options, theme),
    ]


def late_note(message: CustomMessage, options: ViewOptions, theme: Theme) -> list[str]:
    """Diagnostics that arrived after the write."""
    rows = sanitise_keeping_style(str(message.content)).strip("\n").split("\n")
    return _folded([_coloured(row, theme) for row in rows], options, theme)


def _coloured(row: str, theme: Theme) -> str:
    if " error: " in row:
        return theme.fg("error", row)
    return theme.fg("warning", row) if " warning: " in row else row


def _folded(rows: Sequence[str], options: ViewOptions, theme: Theme) -> list[str]:
    if options.expanded or len(rows) <= COLLAPSED_ROWS:
        return list(rows)
    hidden = len(rows) - COLLAPSED_ROWS
    return [*rows[:COLLAPSED_ROWS], theme.fg("dim", f"… {hidden} more lines")]


def _counted(documents: int) -> str:
    return f"{documents} {'document' if documents == 1 else 'documents'}"


class LanguageServersScreen:
    """The running servers, then all known ones with their programs."""

    def __init__(
        self,
        status: Callable[[], Json],
        programs: Sequence[tuple[str, str, str]],
        tui: Any,
        theme: Theme,
        done: Callable[[Any], None],
    ) -> None:
        self._status = status
        self._known = sorted(programs, key=lambda row: (not row[1], row[0]))
        self._tui = tui
        self._theme = theme
        self._done = done
        self._top = 0
        self._on_close: Callable[[], None] = lambda: None

    def on_close(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the screen is closed."""
        self._on_close = listener

    def invalidate(self) -> None:
        """Nothing is cached."""

    def render(self, width: int) -> list[str]:
        """States and roots of the running servers; below them all known servers."""
        theme = self._theme
        rows: list[str] = []
        running = self._status()["servers"]
        for server in running:
            rows += self._server(server)
        if not running:
            hint = "None is running: the first write or query starts one."
            rows += [theme.fg("muted", row) for row in wrap_text(hint, max(width - 2, 1))]
        rows += ["", *self._installed(len(rows), max(width - 2, 1))]
        height = self._tui.terminal.size.rows
        return framed_rows(theme, "Language servers", rows, HINT, width=width, height=height)

    def _server(self, server: Json) -> list[str]:
        state = self._theme.fg(COLOURS[server["state"]], f"{server['state']:<9}")
        memory = f" · {server['memory'] // 2**20} MB" if server["memory"] else ""
        head = f"{server['server']:<20} {state} {_counted(server['documents'])}{memory}"
        rows = [head, self._theme.fg("dim", f"  {one_line(server['root'])}")]
        if more := server["problem"] if server["state"] == "failed" else server["progress"]:
            rows.append(f"  {one_line(more)}")
        return rows

    def _installed(self, used: int, width: int) -> list[str]:
        """The rows of the known servers from the scroll position, as many as fit."""
        height = max(3, self._tui.terminal.size.rows - used - FRAME_ROWS)
        drawn = [self._known_rows(*program, width) for program in self._known]
        last, space = len(drawn), height
        while last and len(drawn[last - 1]) <= space:
            last -= 1
            space -= len(drawn[last])
        self._top = max(0, min(self._top, last))
        return [row for rows in drawn[self._top :] for row in rows][:height]

    def _known_rows(self, name: str, program: str, install: str, width: int) -> list[str]:
        text = one_line(program) if program else f"not found: {install}"
        paint: Callable[[str], str] = str if program else partial(self._theme.fg, "dim")
        if len(name := f"{name:<20}") + 1 + visible_width(text) <= width:
            return [f"{name} {paint(text)}"]
        # Wrapped, not truncated, so that the install command can be copied.
        return [name.rstrip(), *(f"  {paint(row)}" for row in wrap_text(text, max(width - 2, 1)))]

    def handle_input(self, data: str) -> None:
        """Scroll, restart or close."""
        if matches_key(data, "escape") or matches_key(data, "ctrl+c") or matches_key(data, "q"):
            self._close(None)
        elif matches_key(data, "r"):
            self._close("reload")
        elif matches_key(data, "up"):
            self._top -= 1
        elif matches_key(data, "down"):
            self._top += 1

    def _close(self, result: str | None) -> None:
        self._on_close()
        self._done(result)
