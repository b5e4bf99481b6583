"""One row of the session tree."""

from __future__ import annotations

from datetime import datetime

from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.tree.layout import STEP, Row
from pi.modes.interactive.dialogs.tree.nodes import Node
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width

_LEAST_TEXT = 24
"""Columns that the text of an entry has, however deep it is."""


def draw_row(
    view: TreeView, row: Row, theme: Theme, width: int, *, selected: bool, times: bool
) -> str:
    """Connectors, a bullet on the active branch, the label and what the entry says."""
    node = view.tree.nodes[row.place]
    lines = theme.paint("dim")(fitted(row.lines, width - _LEAST_TEXT))
    fold = theme.paint("accent")("⊞ ") if row.hidden else ""
    bullet = theme.paint("accent")("• ") if view.is_active(row.place) else ""
    count = theme.paint("dim")(f" (+{row.hidden})") if row.hidden else ""
    text = _label(node, theme, times=times) + _said(node, theme)
    room = max(width - visible_width(count), 1)
    drawn = truncate_to_width(f"{lines}{fold}{bullet}{text}", room, "…") + count
    drawn = truncate_to_width(drawn, width, "")
    return theme.bold(drawn) if selected else drawn


def fitted(lines: str, room: int) -> str:
    """Connectors that take no more than ``room`` columns: those nearest to the entry stay.

    Whole steps go, so that rows of the same branch stay below each other.
    """
    room = max(room, STEP + 2)
    if len(lines) <= room:
        return lines
    kept = (room - 2) // STEP * STEP
    return "… " + lines[-kept:]


def _label(node: Node, theme: Theme, *, times: bool) -> str:
    if not node.label:
        return ""
    when = f" {_local(node.label_timestamp)}" if times else ""
    return theme.paint("warning")(f"[{node.label}{when}] ")


def _local(timestamp: str) -> str:
    """A time as the person's clock shows it; what is none is left as the file has it."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):  # no time, or none of our calendar
        return one_line(timestamp)


def _said(node: Node, theme: Theme) -> str:
    said = node.said
    match said.kind:
        case "user":
            return f"{theme.paint('accent')('user:')} {said.text}"
        case "assistant":
            paint = theme.paint("error" if said.failed else "success")
            return f"{paint('assistant:')} {said.text}"
        case "tools only":
            return theme.paint("muted")(f"assistant: {said.text}")
        case "tool":
            paint = theme.paint("error" if said.failed else "muted")
            return paint(f"[{said.role}: {said.text}]" if said.text else f"[{said.role}]")
        case "other":
            return f"{theme.paint('customMessageLabel')(f'[{said.role}]')} {said.text}"
        case "bookkeeping":
            return theme.paint("dim")(f"[{said.role}: {said.text}]")
