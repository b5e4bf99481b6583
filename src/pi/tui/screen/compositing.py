"""Lays overlays over the window. Pure; the frame below and its history are not touched."""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.records import Record
from pi.tui.screen.rows import END_OF_STYLES
from pi.tui.text.slicing import pad_to_width, slice_columns


class Layer(Record, kw_only=False):
    """Rows that cover a part of the window, from a cell of the screen on."""

    row: int
    column: int
    width: int
    lines: Sequence[str]


def composite(window: Sequence[str], layers: Sequence[Layer], *, width: int) -> list[str]:
    """The window with ``layers`` over it, the last one on top; it grows as far as they reach."""
    rows = list(window)
    for layer in layers:
        rows += [""] * (layer.row + len(layer.lines) - len(rows))
        for number, line in enumerate(layer.lines, layer.row):
            rows[number] = _covered(rows[number], line, layer, width)
    return rows


def _covered(below: str, line: str, layer: Layer, width: int) -> str:
    """One row of the window with one line of a layer on it."""
    end = layer.column + layer.width
    left = pad_to_width(slice_columns(below, 0, layer.column), layer.column)
    middle = pad_to_width(slice_columns(line, 0, layer.width), layer.width)
    right = slice_columns(below, end, max(width - end, 0))
    return f"{left}{END_OF_STYLES}{middle}{END_OF_STYLES}{right}"
