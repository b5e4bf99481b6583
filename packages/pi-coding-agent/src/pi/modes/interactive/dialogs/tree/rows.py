"""Draws the rows of the tree."""

from __future__ import annotations

from datetime import datetime

from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.tree.layout import STEP, Row
from pi.modes.interactive.dialogs.tree.nodes import Node
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.modes.interactive.theme import Theme
from pi.tui.text.width import truncate_to_width, visible_width

_MIN_TEXT = 24
"""Minimum columns for the text of an entry, however deep it is."""


def draw_row(
    view: TreeView, row: Row, theme: Theme, width: int, *, selected: bool, times: bool
) -> str:
    """Connectors, a bullet on the active branch, the label and the description."""
    node = view.tree.nodes[row.place]
    lines = theme.paint("dim")(fit_connectors(row.lines, width - _MIN_TEXT))
    fold = theme.paint("accent")("⊞ ") if row.hidden else ""
    bullet = theme.paint("accent")("• ") if view.is_active(row.place) else ""
    count = theme.paint("dim")(f" (+{row.hidden})") if row.hidden else ""
    text = _label(node, theme, times=times) + _draw_description(node, theme)
    text_width = max(width - visible_width(count), 1)
    drawn = truncate_to_width(f"{lines}{fold}{bullet}{text}", text_width, "…") + count
    drawn = truncate_to_width(drawn, width, "")
    return theme.bold(drawn) if selected else drawn


def fit_connectors(lines: str, max_width: int) -> str:
    """Limit connectors to ``max_width`` columns: those nearest to the entry are kept.

    Only whole steps are removed, so that rows of one branch stay aligned.
    """
    max_width = max(max_width, STEP + 2)
    if len(lines) <= max_width:
        return lines
    kept_width = (max_width - 2) // STEP * STEP
    return "… " + lines[-kept_width:]


def _label(node: Node, theme: Theme, *, times: bool) -> str:
    if not node.label:
        return ""
    when = f" {_local(node.label_timestamp)}" if times else ""
    return theme.paint("warning")(f"[{node.label}{when}] ")


def _local(timestamp: str) -> str:
    """A time in the local time zone; an invalid one is returned unchanged."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):  # not a time, or out of range
        return one_line(timestamp)


def _draw_description(node: Node, theme: Theme) -> str:
    description = node.description
    match description.kind:
        case "user":
            return f"{theme.paint('accent')('user:')} {description.text}"
        case "assistant":
            paint = theme.paint("error" if description.failed else "success")
            return f"{paint('assistant:')} {description.text}"
        case "tools only":
            return theme.paint("muted")(f"assistant: {description.text}")
        case "tool":
            paint = theme.paint("error" if description.failed else "muted")
            return paint(
                f"[{description.role}: {description.text}]"
                if description.text
                else f"[{description.role}]"
            )
        case "other":
            return (
                f"{theme.paint('customMessageLabel')(f'[{description.role}]')} {description.text}"
            )
        case "bookkeeping":
            return theme.paint("dim")(f"[{description.role}: {description.text}]")
