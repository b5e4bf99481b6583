"""Views of read, write and edit. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.diffs import DiffLine, diff_rows, language_of, read_diff, with_words
from pi.modes.interactive.transcript.block import TranscriptOptions, clip_rows, more_rows
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tool_views.view import (
    DrawnCall,
    failure,
    folded_head,
    format_count,
    wrap_lines,
)
from pi.modes.interactive.word_changes import MAX_PAIRS
from pi.tui.widgets.markdown.highlight import highlight


def read_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """read: the path with its lines, and their number; the content only when expanded."""
    path = look.short_path(one_line(call.argument("path"))) or "…"
    title = look.theme.paint("accent")(path) + look.theme.paint("warning")(_window(call))
    if call.state == "failed":
        return DrawnCall(title, failure(call, look, width))
    note = look.theme.paint("dim")(_line_count(call)) if call.state == "done" else ""
    if not look.is_expanded or call.images:
        return DrawnCall(title, note=note)
    code = code_lines(call.text, call.argument("path"), look)
    return DrawnCall(title, folded_head(code, 0, look, width), note)


_CONTINUES = re.compile(
    r"\n\n\[(?:Showing lines (\d+)-(\d+) of (\d+)|(\d+) more lines in file)[^\n]*\]\s*\Z"
)


def _line_count(call: ToolCallState) -> str:
    """``12 lines``, or ``200 of 950 lines`` if the file has more."""
    if call.images:
        return ""
    rest = _CONTINUES.search(call.text)
    text = call.text[: rest.start()] if rest else call.text
    lines = len(text.removesuffix("\n").split("\n")) if text else 0
    if rest and rest[3]:
        return f"{lines} of {rest[3]} lines"
    return format_count(lines, "line")


def code_lines(text: str, path: str, look: TranscriptOptions) -> list[str]:
    """Highlight source code by the language of its file."""
    language = language_of(path)
    if language:
        return highlight(text, language, look.theme.code)
    paint = look.theme.paint("toolOutput")
    return [paint(line) for line in text.removesuffix("\n").split("\n")] if text else []


def _window(call: ToolCallState) -> str:
    offset, limit = call.arguments.get("offset"), call.arguments.get("limit")
    if not isinstance(offset, int | float) and not isinstance(limit, int | float):
        return ""
    first = int(offset) if isinstance(offset, int | float) else 1
    return f":{first}-{first + int(limit) - 1}" if isinstance(limit, int | float) else f":{first}"


# write --------------------------------------------------------------------------------------------


WRITE_PREVIEW_ROWS = 8
PROBLEM_ROWS = 3
"""Problems of language servers that are shown while a call is folded."""


def write_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The path, the number of lines, and the first lines."""
    path = one_line(call.argument("path"))
    title = look.theme.paint("accent")(look.short_path(path) or "…")
    if call.state == "failed":
        return DrawnCall(title, failure(call, look, width))
    content = call.argument("content")
    if not content:
        return DrawnCall(title)
    lines = content.removesuffix("\n").split("\n")
    note = look.theme.paint("dim")(format_count(len(lines), "line")) + _diagnostics(call, look)
    # Hidden lines are not highlighted.
    visible_lines = lines if look.is_expanded else lines[:WRITE_PREVIEW_ROWS]
    code = code_lines("\n".join(visible_lines), path, look)
    rows = folded_head(code, WRITE_PREVIEW_ROWS, look, width, total=len(lines))
    return DrawnCall(title, [*rows, *_problem_rows(call, look, width)], note)


# edit ---------------------------------------------------------------------------------------------


DIFF_ROWS = 24
EDIT_PREVIEW_ROWS = 8

_WHICH = re.compile(r"edits\[(\d+)\]")
_MISSED = re.compile(r"could not find|occurrences of|edits\[\d", re.IGNORECASE)
"""Errors about the text to replace; not a refused call or a missing file."""


def edit_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """The path, the number of added and removed lines, and the diff.

    Until there is a result, the diff of the arguments; after an error, the text not found.
    """
    path = one_line(call.argument("path"))
    title = look.theme.paint("accent")(look.short_path(path) or "…")
    if call.state == "failed":
        return DrawnCall(title, [*failure(call, look, width), *_sought(call, look, width)])
    diff = call.details.get("diff")
    if isinstance(diff, str):
        lines = sanitise(diff).split("\n")
        # Hidden lines are not compared or highlighted.
        near = lines if look.is_expanded else lines[: DIFF_ROWS + MAX_PAIRS]
        rows = _diff(read_diff(near), look, width, path, DIFF_ROWS, total=len(lines))
        note = _size(lines, look) + _diagnostics(call, look)
        return DrawnCall(title, [*rows, *_problem_rows(call, look, width)], note)
    if call.has_ended:
        return DrawnCall(title)
    return DrawnCall(title, _diff(_preview(call, look), look, width, path, EDIT_PREVIEW_ROWS))


def _diff(
    lines: Sequence[DiffLine],
    look: TranscriptOptions,
    width: int,
    path: str,
    most: int,
    *,
    total: int | None = None,
) -> list[str]:
    """The rows of a diff; when folded, those of its first ``most`` lines."""
    hidden = (len(lines) if total is None else total) - most
    if look.is_expanded or hidden <= 0:
        most, hidden = len(lines), 0
    drawn = diff_rows(
        lines[:most],
        look.theme,
        width,
        language=language_of(path),
        wraps_all=look.is_expanded,
    )
    rows = [row for rows in drawn for row in rows]
    return [*rows, *clip_rows([more_rows(hidden, look)], width)] if hidden else rows


def _diagnostics(call: ToolCallState, look: TranscriptOptions) -> str:
    """The summary of problems that language servers found in the file; empty without any."""
    match call.details.get("diagnostics"):
        case {"summary": str(summary), "items": [*items]} if items:
            colour = "error" if "error" in summary else "warning"
            return look.theme.paint("dim")(" · ") + look.theme.paint(colour)(one_line(summary))
        case _:
            return ""


def _problem_rows(call: ToolCallState, look: TranscriptOptions, width: int) -> list[str]:
    """The problems themselves, errors first, as the model gets them."""
    match call.details.get("diagnostics"):
        case {"items": [*items]}:
            problems = [item for item in items if isinstance(item, Mapping)]
        case _:
            return []
    problems.sort(key=lambda item: item.get("severity") != "error")
    rows = []
    for item in problems if look.is_expanded else problems[:PROBLEM_ROWS]:
        severity = str(item.get("severity", ""))
        text = f"{item.get('line')}:{item.get('column')} {severity}: {item.get('message')}"
        rows.append(look.theme.paint("error" if severity == "error" else "warning")(one_line(text)))
    hidden = len(problems) - len(rows)
    rows = wrap_lines(rows, width) if look.is_expanded else clip_rows(rows, width)
    return [*rows, *clip_rows([more_rows(hidden, look)], width)] if hidden else rows


def _sought(call: ToolCallState, look: TranscriptOptions, width: int) -> list[str]:
    """The text that a failed edit did not find; when expanded, also its replacement."""
    if not _MISSED.search(call.text):
        return []
    which = [int(number) for number in _WHICH.findall(call.text)]
    lines = _preview(call, look, only=which)
    if not look.is_expanded:
        lines = [line._replace(words=()) for line in lines if line.sign != "+"]
    if not lines:
        return []
    title = look.theme.paint("dim")("It was looking for:")
    path = one_line(call.argument("path"))
    return [*clip_rows([title], width), *_diff(lines, look, width, path, EDIT_PREVIEW_ROWS)]


def _size(lines: list[str], look: TranscriptOptions) -> str:
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    plus = look.theme.paint("toolDiffAdded")(f"+{added}")
    return f"{plus} {look.theme.paint('toolDiffRemoved')(f'-{removed}')}"


def _preview(
    call: ToolCallState, look: TranscriptOptions, only: Sequence[int] = ()
) -> list[DiffLine]:
    """The old and new lines of the arguments so far; of the edits in ``only``, or of all."""
    edits = call.arguments.get("edits")
    diff_lines: list[DiffLine] = []
    for number, edit in enumerate(edits if isinstance(edits, list) else ()):
        if isinstance(edit, dict) and (not only or number in only):
            for sign, name in (("-", "oldText"), ("+", "newText")):
                text = edit.get(name)
                # A line end at the end is no further line.
                lines = sanitise(text).removesuffix("\n").split("\n") if _has_text(text) else []
                diff_lines += [DiffLine(sign, None, line) for line in lines]
    # Arguments arrive in many pieces, and each frame begins anew: hidden lines are not compared.
    near = len(diff_lines) if look.is_expanded else MAX_PAIRS
    return [*with_words(diff_lines[:near]), *diff_lines[near:]]


def _has_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)
