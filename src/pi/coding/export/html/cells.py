"""Cells as HTML: what tools like ``python`` report in ``details.cells``.

A cell is an object with ``code``, and with ``title``, ``status``, ``output`` and ``durationMs`` if
they are known; ``details.language`` says how the code is painted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.coding.export.html.markup import Html, Painter, esc, join, tag
from pi.coding.export.transcript import strip_blank_lines


def cells_of(details: object) -> Sequence[Mapping[str, Any]]:
    """Return the cells in the details of a result or message; empty if there are none."""
    cells = details.get("cells") if isinstance(details, dict) else None
    found = cells if isinstance(cells, list | tuple) else ()
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("code"), str)]


def cells(details: Mapping[str, Any], painter: Painter) -> Html:
    """Render the cells: code, status and output of each."""
    listed, language = cells_of(details), str(details.get("language", ""))
    return join(
        _cell(cell, f"[{number}/{len(listed)}]" if len(listed) > 1 else "", language, painter)
        for number, cell in enumerate(listed, 1)
    )


def _cell(cell: Mapping[str, Any], place: str, language: str, painter: Painter) -> Html:
    status, took = str(cell.get("status", "")), cell.get("durationMs")
    notes = [place, str(cell.get("title") or ""), "" if status == "ok" else status]
    notes.append(f"{took / 1000:.1f} s" if isinstance(took, int | float) and took >= 100 else "")
    output = strip_blank_lines(str(cell.get("output") or ""))
    return tag(
        "section",
        tag("p", esc(" · ".join(filter(None, notes))), class_="note") if any(notes) else Html(""),
        painter.block(str(cell["code"]), language),
        painter.block(output) if output else Html(""),
        class_="cell failed" if status in ("error", "interrupted") else "cell",
    )
