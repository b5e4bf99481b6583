"""Draws cells: code, status and output, collapsed or expanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED_CALL, COLLAPSED_TYPED = 10, 20
"""Lines of output of a collapsed call, and of code that the user typed."""
COLLAPSED_CODE = 10
"""Lines of code of a collapsed cell."""
LIVE_CODE, LIVE_OUTPUT = 2, 5
"""Lines of a running cell of the user above the editor, where widgets have few rows."""
MAX_LINE = 4000
"""Maximum of characters of a line, so that the terminal does not wrap megabytes."""
_MARKS = {
    "ok": ("success", "✓"),
    "error": ("error", "✗"),
    "interrupted": ("warning", "■"),
    "running": ("accent", "●"),
}


class RunningCell:
    """Widget above the editor: the running cell of the user."""

    def __init__(self, details: Mapping[str, Any], theme: Callable[[], Theme]) -> None:
        self._details = details
        self._theme = theme

    def render(self, width: int) -> list[str]:
        """The rows, truncated to the width."""
        theme = self._theme()
        cells, options = _cells_of(self._details), ViewOptions()
        rows = _cells(cells, options, theme, LIVE_OUTPUT, code_lines=LIVE_CODE, width=width)
        return [*rows, theme.fg("dim", "Escape interrupts the cell"[:width])]


def draw_call(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """A call of the tool; the first line follows its name."""
    details = call.details if isinstance(call.details, dict) else {}
    cells = _cells_of(details) or _pending(call.arguments)
    count = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
    rows = [theme.fg("muted", count), *_cells(cells, options, theme, COLLAPSED_CALL)]
    if call.state in ("failed", "interrupted") and not _cells_of(details):
        return rows + [theme.fg("error", line) for line in _lines(call.text)]
    return rows + _notices(details, theme)


def draw_message(message: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    """Code of the user, with its output."""
    return _draw_typed(message.details, options, theme)


def draw_entry(entry: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    """Code of the user that the model does not see."""
    return _draw_typed(entry.data, options, theme)


def _draw_typed(details: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    if not isinstance(details, dict) or not _cells_of(details):
        return None
    rows = _cells(_cells_of(details), options, theme, COLLAPSED_TYPED)
    if details.get("excludeFromContext"):
        rows.append(theme.fg("dim", "not sent to the model"))
    return rows + _notices(details, theme)


def _cells_of(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cells = details.get("cells")
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _pending(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The cells in the arguments of a call, which may still be arriving."""
    return _cells_of(arguments)


def _cells(
    cells: Sequence[Mapping[str, Any]],
    options: ViewOptions,
    theme: Theme,
    most: int,
    *,
    code_lines: int = COLLAPSED_CODE,
    width: int = MAX_LINE,
) -> list[str]:
    rows: list[str] = []
    for number, cell in enumerate(cells, 1):
        rows.append(_head(cell, f"[{number}/{len(cells)}]" if len(cells) > 1 else "", theme))
        code = _lines(cell.get("code"))
        hidden = 0 if options.expanded else max(len(code) - code_lines, 0)
        rows += [theme.fg("accent", f"  {line}"[:width]) for line in code[: len(code) - hidden]]
        if hidden:
            rows.append(theme.fg("dim", f"  … {hidden} more lines of code"))
        rows += _events(cell.get("statusEvents"), options, theme)
        output = _lines(cell.get("output"))
        if not options.expanded and len(output) > most:
            rows.append(theme.fg("dim", f"  … {len(output) - most} earlier lines"))
            output = output[-most:]
        colour = "error" if cell.get("status") == "error" else "toolOutput"
        rows += [theme.fg(colour, f"  {line}"[:width]) for line in output]
    return rows


def _head(cell: Mapping[str, Any], position: str, theme: Theme) -> str:
    colour, mark = _MARKS.get(str(cell.get("status", "")), ("muted", "○"))
    duration, images = _number(cell.get("durationMs")), _number(cell.get("images"))
    notes = [f"{duration / 1000:.1f}s"] if duration >= 100 else []
    notes += [f"{images:.0f} image{'s' * (images != 1)}"] if images else []
    if cell.get("status") == "interrupted":
        notes.append("interrupted")
    title = one_line(str(cell.get("title") or ""))
    head = " ".join(part for part in (theme.fg(colour, mark), position, title) if part)
    return head + (theme.fg("dim", f"  {' · '.join(notes)}") if notes else "")


def _events(events: Any, options: ViewOptions, theme: Theme) -> list[str]:
    """Reports of helpers: a count per operation, or all details if expanded."""
    listed = [event for event in events if isinstance(event, dict)] if events else []
    if not listed:
        return []
    if options.expanded:
        return [theme.fg("dim", f"  {one_line(_event(event))[:MAX_LINE]}") for event in listed]
    counts: dict[str, int] = {}
    for event in listed:
        name = one_line(str(event.get("op", "")))
        counts[name] = counts.get(name, 0) + 1
    summary = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.items())
    return [theme.fg("dim", f"  {summary}")]


def _event(event: Mapping[str, Any]) -> str:
    details = " ".join(f"{name}={value}" for name, value in event.items() if name != "op")
    return f"{event.get('op', '')} {details}"


def _notices(details: Mapping[str, Any], theme: Theme) -> list[str]:
    rows = []
    if details.get("stdinRequested"):
        rows.append(theme.fg("warning", "input() is not supported"))
    if details.get("artifact"):
        rows.append(theme.fg("warning", f"Truncated. Full output: {details['artifact']}"))
    return rows


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _lines(text: object) -> list[str]:
    safe_text = sanitise(str(text or "")).rstrip("\n")
    return [line[:MAX_LINE] for line in safe_text.split("\n")] if safe_text else []
