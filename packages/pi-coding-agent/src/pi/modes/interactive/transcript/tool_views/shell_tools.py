"""The view of bash."""

from __future__ import annotations

import re

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tool_views.generic import format_argument
from pi.modes.interactive.transcript.tool_views.view import (
    DrawnCall,
    failure,
    folded_tail,
    painted_output,
)
from pi.tui.text.width import expand_tabs
from pi.tui.text.wrap import wrap_text

TAIL_ROWS = 5

_ENDING = re.compile(
    r"(?<!\n)\n*"
    r"(?:Command exited with code (?P<code>-?\d+)|(?P<words>Command (?:aborted|timed out.*)))\Z"
)
_NOT_ALL = re.compile(r"\n\n\[(Showing [^\n]*)\]\s*\Z")
_NO_OUTPUT = "(no output)"


def bash_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The command after a dollar sign; the last rows of its output below."""
    theme = look.theme
    first, *others = call.argument("command").strip().split("\n")
    title = theme.paint("toolTitle", bold=True)(expand_tabs(first) or "…")
    more = [theme.paint("toolTitle")(expand_tabs(line)) for line in others]
    if how := _how(call, look):
        more.append(theme.paint("muted")(how))
    if call.state == "failed" and not _ENDING.search(call.text):  # the command was not started
        return DrawnCall(title, failure(call, look, width), more_title=more, wraps=True)
    text, note = _outcome(call.styled, look) if call.has_ended else (call.styled, "")
    if text.strip() == _NO_OUTPUT:
        text, note = "", note or theme.paint("dim")("no output")
    text, remark = _remark(text)
    rows = folded_tail(painted_output(text, look), TAIL_ROWS, look, width)
    rows += wrap_text(theme.paint("dim")(remark), width) if remark else []
    return DrawnCall(title, rows, note, more_title=more, wraps=True)


def _how(call: ToolCallState, look: TranscriptOptions) -> str:
    """Directory, variables, terminal, background and time limit, if the call sets them."""
    arguments = call.arguments
    folder = one_line(call.argument("cwd"))
    env = arguments.get("env")
    parts = [f"in {look.short_path(folder) or '.'}" if folder else ""]
    if isinstance(env, dict) and env:
        # Values may be long, and are of interest only to a reader who unfolds the call.
        variables = (
            f"{name}={format_argument(value)}" if look.is_expanded else name
            for name, value in env.items()
        )
        parts.append("with " + one_line(" ".join(variables)))
    parts.append("in a terminal" if arguments.get("pty") is True else "")
    parts.append("in the background" if arguments.get("async") is True else "")
    limit = arguments.get("timeout")
    # One row more for most calls, of no interest once the command has ended in time.
    if isinstance(limit, int | float) and (look.is_expanded or not call.has_ended):
        parts.append(f"for at most {limit:g} s")
    return ", ".join(part for part in parts if part)


def _remark(text: str) -> tuple[str, str]:
    """Split the output and the truncation note."""
    match = _NOT_ALL.search(text)
    return (text[: match.start()], match[1]) if match else (text, "")


def _outcome(text: str, look: TranscriptOptions) -> tuple[str, str]:
    """Split the output and the exit note, in short form."""
    match = _ENDING.search(text)
    if match is None:
        return text, ""
    note = f"exit {match['code']}" if match["code"] else match["words"].removeprefix("Command ")
    if note == "aborted":  # shown by the state of the call
        return text[: match.start()], ""
    return text[: match.start()], look.theme.paint("error")(note)


# Other tools --------------------------------------------------------------------------------------
