"""How cells are drawn: code, status and output, folded or whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.extension import Theme, ToolView, ViewOptions, sanitise

FOLDED_CALL, FOLDED_TYPED = 10, 20
"""Lines of output that are shown of a call, and of code that the user typed."""
MAX_LINE = 4000
_MARKS = {"ok": ("success", "✓"), "error": ("error", "✗"), "interrupted": ("warning", "■")}


def draw_call(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """A call of the tool; the first line follows its name."""
    details = call.details if isinstance(call.details, dict) else {}
    cells = details.get("cells") or _pending(call.arguments)
    count = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
    return [theme.fg("muted", count), *_cells(cells, options, theme, FOLDED_CALL)]


def draw_message(message: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    """Code of the user, with its output."""
    return _typed(message.details, options, theme)


def draw_entry(entry: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    """Code of the user that the model does not see."""
    return _typed(entry.data, options, theme)


def _typed(details: Any, options: ViewOptions, theme: Theme) -> list[str] | None:
    if not isinstance(details, dict) or not isinstance(details.get("cells"), list | tuple):
        return None
    return _cells(details["cells"], options, theme, FOLDED_TYPED)


def _pending(arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells of a call whose arguments still arrive."""
    cells = arguments.get("cells")
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _cells(
    cells: Sequence[Mapping[str, Any]], options: ViewOptions, theme: Theme, most: int
) -> list[str]:
    rows: list[str] = []
    for cell in cells:
        colour, mark = _MARKS.get(str(cell.get("status", "")), ("muted", "…"))
        took = cell.get("durationMs") or 0
        title = " ".join(str(cell.get("title") or "").split())
        head = f"{theme.fg(colour, mark)} {title}".rstrip()
        rows.append(head + (theme.fg("dim", f" {took / 1000:.1f}s") if took >= 100 else ""))
        rows += [theme.fg("accent", f"  {line}") for line in _lines(cell.get("code"))]
        output = _lines(cell.get("output"))
        if not options.expanded and len(output) > most:
            hidden = len(output) - most
            rows.append(theme.fg("dim", f"  … {hidden} earlier lines"))
            output = output[-most:]
        rows += [f"  {line}" for line in output]
    return rows


def _lines(text: object) -> list[str]:
    shown = sanitise(str(text or "")).rstrip("\n")
    return [line[:MAX_LINE] for line in shown.split("\n")] if shown else []
