"""bash: the command, the end of what it writes while it writes it, and how it ended."""

from __future__ import annotations

import re

from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.view import (
    Shown,
    failure,
    folded_head,
    folded_tail,
    painted,
)
from pi.tui.text.width import expand_tabs
from pi.tui.text.wrap import wrap_text

TAIL_ROWS = 5
COMMAND_ROWS = 4

_ENDING = re.compile(
    r"(?<!\n)\n*"
    r"(?:Command exited with code (?P<code>-?\d+)|(?P<words>Command (?:aborted|timed out.*)))\Z"
)
_NOT_ALL = re.compile(r"\n\n\[(Showing [^\n]*)\]\s*\Z")
_NO_OUTPUT = "(no output)"


def bash_view(call: Call, look: Look, width: int) -> Shown:
    """The command behind a dollar sign; its last rows below."""
    theme = look.theme
    command = call.argument("command").strip().split("\n")
    title = theme.paint("toolTitle", bold=True)(expand_tabs(command[0]) or "…")
    rows = _more_of_command(command[1:], look, width)
    if call.state == "failed" and not _ENDING.search(call.text):  # it was not even begun
        return Shown(title, [*rows, *failure(call, look, width)])
    text, note = _outcome(call.text, look) if call.has_ended else (call.text, "")
    if text.strip() == _NO_OUTPUT:
        text, note = "", note or theme.paint("dim")("no output")
    text, remark = _remark(text)
    rows += folded_tail(painted(text, theme.paint("toolOutput")), TAIL_ROWS, look, width)
    rows += wrap_text(theme.paint("dim")(remark), width) if remark else []
    return Shown(title, rows, note)


def _remark(text: str) -> tuple[str, str]:
    """The output without the remark that it is not all of it, and that remark."""
    found = _NOT_ALL.search(text)
    return (text[: found.start()], found[1]) if found else (text, "")


def _more_of_command(lines: list[str], look: Look, width: int) -> list[str]:
    """What follows the first line, below its beginning: output stands further left."""
    painted_lines = list(map(look.theme.paint("toolTitle"), lines))
    rows = folded_head(painted_lines, COMMAND_ROWS, look, max(width - 2, 1))
    return [f"  {row}" for row in rows]


def _outcome(text: str, look: Look) -> tuple[str, str]:
    """The output without the remark on how the command ended, and that remark in short."""
    found = _ENDING.search(text)
    if found is None:
        return text, ""
    note = f"exit {found['code']}" if found["code"] else found["words"].removeprefix("Command ")
    return text[: found.start()], look.theme.paint("error")(note)
