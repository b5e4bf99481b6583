"""grep, find and ls: what was looked for and how much was found."""

from __future__ import annotations

import re

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.view import (
    Shown,
    counted,
    failure,
    folded_head,
    painted,
)

_NOTHING = re.compile(r"\A(?:No (?:matches|files) found.*|\(empty directory\))\Z")
_NOTICE = re.compile(r"\n\n\[[^\n]*\]\Z")
_MORE = re.compile(r"\n\n\[[^\n]*limit reached[^\n]*\]\Z")
_BREAK = re.compile(r"[\t\n]")
_MATCH = re.compile(r".*:\d+:")


def grep_view(call: Call, look: Look, width: int) -> Shown:
    """The pattern and where; how many lines match."""
    pattern = look.theme.paint("accent")(f"/{_pattern(call)}/")
    glob = one_line(call.argument("glob"))
    title = f"{pattern}{_place(call, look)}{look.theme.paint('muted')(f' {glob}') if glob else ''}"
    found = [line for line in _lines(call.text) if _MATCH.match(line)]
    return _shown(call, look, width, title, counted(len(found), "match", "matches"))


def find_view(call: Call, look: Look, width: int) -> Shown:
    """The pattern and where; how many files fit."""
    title = look.theme.paint("accent")(_pattern(call)) + _place(call, look)
    return _shown(call, look, width, title, counted(len(_lines(call.text)), "file"))


def ls_view(call: Call, look: Look, width: int) -> Shown:
    """The folder; how much is in it."""
    path = one_line(call.argument("path")) or "."
    title = look.theme.paint("accent")(look.short_path(path) or ".")
    number = counted(len(_lines(call.text)), "entry", "entries")
    return _shown(call, look, width, title, number)


def _shown(call: Call, look: Look, width: int, title: str, number: str) -> Shown:
    if call.state == "failed":
        return Shown(title, failure(call, look, width))
    if call.state != "done":
        return Shown(title)
    rows = painted(call.text, look.theme.paint("toolOutput")) if look.is_expanded else []
    note = "nothing" if not _lines(call.text) else number
    if _MORE.search(call.text.rstrip()):
        note += ", and more"
    return Shown(title, folded_head(rows, 0, look, width), look.theme.paint("dim")(note))


def _pattern(call: Call) -> str:
    """What is looked for, on one row: blanks at its ends are part of it."""
    return _BREAK.sub(" ", call.argument("pattern"))


def _place(call: Call, look: Look) -> str:
    path = one_line(call.argument("path"))
    return look.theme.paint("muted")(f" in {look.short_path(path) or '.'}") if path else ""


def _lines(text: str) -> list[str]:
    """What was found, without the notice that there is more."""
    text = _NOTICE.sub("", text.strip())
    if not text or _NOTHING.match(text):
        return []
    return [line for line in text.split("\n") if line.strip()]
