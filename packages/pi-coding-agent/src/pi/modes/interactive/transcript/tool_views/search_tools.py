"""Views of grep, find and ls. Pure."""

from __future__ import annotations

import re

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tool_views.view import (
    DrawnCall,
    failure,
    folded_head,
    format_count,
    paint_lines,
)

_NOTHING = re.compile(r"\A(?:No (?:matches|files) found.*|\(empty directory\))\Z")
_NOTICE = re.compile(r"\n\n\[[^\n]*\]\Z")
_MORE = re.compile(r"\n\n\[[^\n]*limit reached[^\n]*\]\Z")
_BREAK = re.compile(r"[\t\n]")
_MATCH = re.compile(r".*:\d+:")


def grep_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The pattern and the path; the number of matching lines."""
    pattern = look.theme.paint("accent")(f"/{_pattern(call)}/")
    glob = one_line(call.argument("glob"))
    title = (
        f"{pattern}{_location(call, look)}{look.theme.paint('muted')(f' {glob}') if glob else ''}"
    )
    matches = [line for line in _lines(call.text) if _MATCH.match(line)]
    return _draw_list(call, look, width, title, format_count(len(matches), "match", "matches"))


def find_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The pattern and the path; the number of files."""
    title = look.theme.paint("accent")(_pattern(call)) + _location(call, look)
    return _draw_list(call, look, width, title, format_count(len(_lines(call.text)), "file"))


def ls_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The folder; the number of entries."""
    path = one_line(call.argument("path")) or "."
    title = look.theme.paint("accent")(look.short_path(path) or ".")
    number = format_count(len(_lines(call.text)), "entry", "entries")
    return _draw_list(call, look, width, title, number)


def _draw_list(
    call: ToolCallState, look: TranscriptOptions, width: int, title: str, number: str
) -> DrawnCall:
    if call.state == "failed":
        return DrawnCall(title, failure(call, look, width))
    if call.state != "done":
        return DrawnCall(title)
    rows = paint_lines(call.text, look.theme.paint("toolOutput")) if look.is_expanded else []
    note = "nothing" if not _lines(call.text) else number
    if _MORE.search(call.text.rstrip()):
        note += ", and more"
    return DrawnCall(title, folded_head(rows, 0, look, width), look.theme.paint("dim")(note))


def _pattern(call: ToolCallState) -> str:
    """The pattern on one row. Leading and trailing blanks are kept: they are part of it."""
    return _BREAK.sub(" ", call.argument("pattern"))


def _location(call: ToolCallState, look: TranscriptOptions) -> str:
    path = one_line(call.argument("path"))
    return look.theme.paint("muted")(f" in {look.short_path(path) or '.'}") if path else ""


def _lines(text: str) -> list[str]:
    """The result lines, without notices; empty if nothing was found."""
    text = _NOTICE.sub("", text.strip())
    if not text or _NOTHING.match(text):
        return []
    return [line for line in text.split("\n") if line.strip()]
