"""Tool views: one per tool.

A view turns a call into a title and rows; the block draws the frame around them. ``VIEWS`` is the
table; other tools get the generic view.
"""

from __future__ import annotations

from pi.modes.interactive.transcript.tool_views.file_tools import edit_view, read_view, write_view
from pi.modes.interactive.transcript.tool_views.generic import generic_view
from pi.modes.interactive.transcript.tool_views.search_tools import find_view, grep_view, ls_view
from pi.modes.interactive.transcript.tool_views.shell_tools import bash_view
from pi.modes.interactive.transcript.tool_views.view import View

VIEWS: dict[str, View] = {
    "read": read_view,
    "bash": bash_view,
    "edit": edit_view,
    "write": write_view,
    "grep": grep_view,
    "find": find_view,
    "ls": ls_view,
}


def view_of(name: str) -> View:
    """Return the view of a tool."""
    return VIEWS.get(name, generic_view)
