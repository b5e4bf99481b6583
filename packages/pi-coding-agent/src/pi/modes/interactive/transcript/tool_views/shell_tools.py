"""Views of bash, grep, find, ls, and the generic view."""

from __future__ import annotations

import re

import msgspec

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.block import ToolCallState, TranscriptOptions
from pi.modes.interactive.transcript.tool_views.view import (
    DrawnCall,
    failure,
    folded_head,
    folded_tail,
    format_count,
    paint_lines,
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
            f"{name}={_value(value)}" if look.is_expanded else name for name, value in env.items()
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


# grep, find and ls --------------------------------------------------------------------------------


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


# Other tools --------------------------------------------------------------------------------------


ROWS = 5


def generic_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """Arguments as ``name=value``, one per row when expanded; the first lines of the output."""
    pairs = [one_line(f"{name}={_value(value)}") for name, value in call.arguments.items()]
    muted = look.theme.paint("muted")
    if look.is_expanded:
        title, rows = "", [muted(pair) for pair in pairs]
    else:
        title, rows = muted(" ".join(pairs)), []
    if call.state == "failed":
        head = folded_head(rows, len(rows), look, width)
        return DrawnCall(title, [*head, *failure(call, look, width)])
    lines = paint_lines(call.text, look.theme.paint("toolOutput"))
    body = folded_head([*rows, *lines], ROWS, look, width)
    return DrawnCall(title, body)


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
