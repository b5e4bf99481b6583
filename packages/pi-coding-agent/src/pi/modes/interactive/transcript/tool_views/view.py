"""The result of a view, and helpers that views share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from pi.modes.interactive.transcript.block import TranscriptOptions, clip_rows, more_rows
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import StyleState, strip_sequences
from pi.tui.text.width import expand_tabs, slice_columns, visible_width
from pi.tui.text.wrap import wrap_text

SGR = re.compile("\x1b\\[[0-9;:]*m")
_PARAMETER = re.compile(r"[345]8[;:](?:5[;:]\d+|2(?:[;:]\d*){3,4})|[\d:]+")
"""One parameter of a style. A colour with all its numbers counts as one."""
_TRICKS = ("5", "6", "8")

ERROR_ROWS = 6
MAX_COLUMNS = 4000
"""Columns of one line of output that are drawn, also when expanded."""
"""Maximum rows of an error while folded."""


class DrawnCall(NamedTuple):
    """A drawn call. All texts are painted and sanitised."""

    title: str
    """The text after the tool's name."""
    rows: Sequence[str] = ()
    """The rows below, none wider than requested."""
    note: str = ""
    """A short result at the end of the title, such as ``3 matches``."""
    more_title: Sequence[str] = ()
    """Further lines of the title. If there are any or ``wraps``, the title is not truncated."""
    wraps: bool = False
    """Whether the title is wrapped, to a few rows while folded; otherwise it is truncated."""


View: TypeAlias = Callable[[ToolCallState, TranscriptOptions, int], DrawnCall]
"""Draws a call at a width."""


def folded_head(
    lines: Sequence[str],
    most: int,
    look: TranscriptOptions,
    width: int,
    *,
    total: int | None = None,
) -> list[str]:
    """The first ``most`` lines, truncated to the width; all of them, wrapped, when expanded.

    ``total`` is the number of lines, if only the first are passed.
    """
    if look.is_expanded:
        return wrap_lines(lines, width)
    rows = clip_rows([expand_tabs(line) for line in lines[:most]], width)
    hidden = (len(lines) if total is None else total) - most
    return rows if hidden <= 0 else [*rows, *clip_rows([more_rows(hidden, look)], width)]


def folded_tail(lines: Sequence[str], most: int, look: TranscriptOptions, width: int) -> list[str]:
    """The last ``most`` rows of the wrapped lines; all of them when expanded."""
    if look.is_expanded:
        return wrap_lines(lines, width)
    rows: list[str] = []
    hidden = len(lines)  # a line of which only the end is shown counts as well
    for line in reversed(lines[-most:]):
        rows = wrap_lines([line], width) + rows
        if len(rows) > most:
            break
        hidden -= 1
    hint = clip_rows([more_rows(hidden, look, "earlier")], width) if hidden else []
    return hint + rows[-most:]


def failure(call: ToolCallState, look: TranscriptOptions, width: int) -> list[str]:
    """The error of a call: its first rows, wrapped."""
    rows = wrap_lines(
        paint_lines(readable_error(call.text.strip()), look.theme.paint("error")), width
    )
    hidden = len(rows) - ERROR_ROWS
    if look.is_expanded or hidden <= 0:
        return rows
    return [*rows[:ERROR_ROWS], *clip_rows([more_rows(hidden, look)], width)]


# The model gets these errors in the form of Node; users get a sentence.
_NODE_ERROR = re.compile(
    r"E[A-Z]{3,}: (?P<words>[^\n]+), (?:access|open|read|stat|scandir|mkdir)\b"
)


def readable_error(text: str) -> str:
    """Return an error of a file for users: ``No such file or directory '/a/b'``."""
    match = _NODE_ERROR.match(text)
    if match is None:
        return text
    message = match["words"]
    return f"{message[:1].upper()}{message[1:]}{text[match.end() :]}"


def paint_lines(text: str, paint: Callable[[str], str]) -> list[str]:
    """The painted lines of a text without empty ones at its end."""
    text = text.rstrip()
    return [paint(line) for line in text.split("\n")] if text else []


def painted_output(text: str, look: TranscriptOptions) -> list[str]:
    """The lines of an output in its own colours, if the terminal has any."""
    paint = look.theme.paint("toolOutput")
    if look.theme.depth == ColourDepth.NONE:
        text = strip_sequences(text)
    if "\x1b" not in text:
        return paint_lines("\n".join(map(_truncate_line, text.split("\n"))), paint)
    text = SGR.sub(_without_tricks, text)
    state, lines = StyleState(), list[str]()
    for line in text.rstrip().removesuffix("\x1b[0m").rstrip().split("\n"):
        opening = state.opening()  # a style may span several lines
        for sequence in SGR.findall(line):
            state.apply(sequence)
        lines.append(paint(_truncate_line(f"{opening}{line}{state.closing()}")))
    return lines


def _truncate_line(line: str) -> str:
    if len(line) <= MAX_COLUMNS:
        return line
    hidden = visible_width(line) - MAX_COLUMNS
    return (
        line if hidden <= 0 else f"{slice_columns(line, 0, MAX_COLUMNS)}… {hidden:,} more columns"
    )


def _without_tricks(sequence: re.Match[str]) -> str:
    """Remove blinking and concealment, which would hide what a command wrote."""
    parameters = _PARAMETER.findall(sequence[0][2:-1])
    remaining = [parameter for parameter in parameters if parameter.lstrip("0") not in _TRICKS]
    if len(remaining) == len(parameters):
        return sequence[0]
    return f"\x1b[{';'.join(remaining)}m" if remaining else ""


def format_count(number: int, one: str, several: str = "") -> str:
    """``3 lines``, ``1 line``."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def wrap_lines(lines: Sequence[str], width: int) -> list[str]:
    """Wrap lines and expand tabs."""
    rows: list[str] = []
    for line in map(expand_tabs, lines):
        # Most lines of an output fit, and checking that is far cheaper than wrapping a painted one.
        rows += [line] if visible_width(line) <= width else wrap_text(line, width)
    return rows
