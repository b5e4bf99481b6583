"""Views of read, write and edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.transcript.block import ToolCallState, TranscriptOptions
from pi.modes.interactive.transcript.tool_views.view import ToolView, counted, failure, folded_head
from pi.tui.widgets.markdown.highlight import highlight

_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "tsx": "tsx", "jsx": "jsx",
    "rs": "rust", "go": "go", "rb": "ruby", "java": "java", "kt": "kotlin", "swift": "swift",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "php": "php",
    "sh": "bash", "bash": "bash", "zsh": "bash", "fish": "fish", "ps1": "powershell",
    "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "ini": "ini", "xml": "xml",
    "html": "html", "css": "css", "scss": "scss", "sql": "sql", "md": "markdown",
    "lua": "lua", "zig": "zig", "hs": "haskell", "scala": "scala", "dart": "dart", "r": "r",
}  # fmt: skip


def read_view(call: ToolCallState, look: TranscriptOptions, width: int) -> ToolView:
    """read: the path with its lines; the content only when expanded."""
    path = look.short_path(one_line(call.argument("path"))) or "…"
    title = look.theme.paint("accent")(path) + look.theme.paint("warning")(_window(call))
    if call.state == "failed":
        return ToolView(title, failure(call, look, width))
    if not look.is_expanded or call.images:
        return ToolView(title)
    return ToolView(
        title, folded_head(code_lines(call.text, call.argument("path"), look), 0, look, width)
    )


def language_of(path: str) -> str:
    """Returns the language of a file for the highlighter; empty if unknown."""
    name = path.rpartition("/")[2].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


def code_lines(text: str, path: str, look: TranscriptOptions) -> list[str]:
    """Highlights source code by the language of its file."""
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


# write: the file, and the start of its content.


WRITE_PREVIEW_ROWS = 8


def write_view(call: ToolCallState, look: TranscriptOptions, width: int) -> ToolView:
    """The path, the number of lines, and the first lines."""
    path = one_line(call.argument("path"))
    title = look.theme.paint("accent")(look.short_path(path) or "…")
    if call.state == "failed":
        return ToolView(title, failure(call, look, width))
    content = call.argument("content")
    if not content:
        return ToolView(title)
    lines = content.removesuffix("\n").split("\n")
    note = look.theme.paint("dim")(counted(len(lines), "line"))
    # Hidden lines are not highlighted.
    shown = lines if look.is_expanded else lines[:WRITE_PREVIEW_ROWS]
    code = code_lines("\n".join(shown), path, look)
    return ToolView(
        title, folded_head(code, WRITE_PREVIEW_ROWS, look, width, total=len(lines)), note
    )


# Word-level differences of a changed line. Pure.


LONGEST = 500
"""Line length above which words are not compared."""
MIN_ALIKE = 0.4
"""Minimum similarity of two lines for a word-level diff."""

_WORD = re.compile(r"\w+|\s+|.")


class WordChange(NamedTuple):
    """A part of a line, and whether it differs."""

    text: str
    differs: bool


def changed_words(old: str, new: str) -> tuple[list[WordChange], list[WordChange]]:
    """Splits both lines; if they have little in common, each is one part without differences."""
    before, after = _WORD.findall(old[: LONGEST + 1]), _WORD.findall(new[: LONGEST + 1])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if max(len(old), len(new)) > LONGEST or matcher.ratio() < MIN_ALIKE:
        return [WordChange(old, differs=False)], [WordChange(new, differs=False)]
    steps = matcher.get_opcodes()
    return (
        list(_merged(before, [(step[1], step[2], step[0] != "equal") for step in steps])),
        list(_merged(after, [(step[3], step[4], step[0] != "equal") for step in steps])),
    )


def _merged(words: Sequence[str], spans: Sequence[tuple[int, int, bool]]) -> Iterator[WordChange]:
    for start, end, differs in spans:
        if start < end:
            yield WordChange("".join(words[start:end]), differs)


# edit: a coloured diff; before the result, the replaced text.


DIFF_ROWS = 24
EDIT_PREVIEW_ROWS = 8
MAX_PAIRS = 40
"""Changed lines in one place above which words are not compared."""

_RUN = re.compile(r"(-*)(\+*)(?<=[-+])")
_NUMBERED = re.compile(r"[-+] *\d+ ")


def edit_view(call: ToolCallState, look: TranscriptOptions, width: int) -> ToolView:
    """The path, the number of added and removed lines, and the diff."""
    title = look.theme.paint("accent")(look.short_path(one_line(call.argument("path"))) or "…")
    if call.state == "failed":
        return ToolView(title, failure(call, look, width))
    diff = call.details.get("diff")
    if isinstance(diff, str):
        lines = sanitise(diff).split("\n")
        near = lines if look.is_expanded else lines[: DIFF_ROWS + 2 * MAX_PAIRS]
        rows = folded_head(coloured(near, look), DIFF_ROWS, look, width, total=len(lines))
        return ToolView(title, rows, _size(lines, look))
    if call.has_ended:
        return ToolView(title)
    return ToolView(title, folded_head(list(_preview(call, look)), EDIT_PREVIEW_ROWS, look, width))


def coloured(lines: list[str], look: TranscriptOptions) -> list[str]:
    """Colours a diff; word-level differences of a changed line are highlighted."""
    theme = look.theme
    signs = "".join(line[:1] or " " for line in lines)
    rows = list(map(theme.paint("toolDiffContext"), lines))
    for run in _RUN.finditer(signs):
        removed, added = lines[run.start(1) : run.end(1)], lines[run.start(2) : run.end(2)]
        old, new = theme.paint("toolDiffRemoved"), theme.paint("toolDiffAdded")
        if len(removed) == len(added) <= MAX_PAIRS:
            pairs = [_pair(*pair, look) for pair in zip(removed, added, strict=True)]
            rows[run.start() : run.end()] = [row for row, _ in pairs] + [row for _, row in pairs]
        else:
            rows[run.start() : run.end()] = [*map(old, removed), *map(new, added)]
    return rows


def _pair(old: str, new: str, look: TranscriptOptions) -> tuple[str, str]:
    """A line before and after a change."""
    (sign, before), (other, after) = _parts(old), _parts(new)
    was, now = changed_words(before, after)
    return (
        _painted(sign, was, "toolDiffRemoved", look),
        _painted(other, now, "toolDiffAdded", look),
    )


def _painted(sign: str, pieces: list[WordChange], token: str, look: TranscriptOptions) -> str:
    plain, loud = look.theme.paint(token), look.theme.paint(token, inverse=True)
    if not any(piece.differs for piece in pieces):
        return plain(sign + "".join(piece.text for piece in pieces))
    return plain(sign) + "".join((loud if piece.differs else plain)(piece.text) for piece in pieces)


def _parts(line: str) -> tuple[str, str]:
    """Splits a row into sign with number, and text."""
    found = _NUMBERED.match(line)
    return (found[0], line[found.end() :]) if found else (line[:1], line[1:])


def _size(lines: list[str], look: TranscriptOptions) -> str:
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    plus = look.theme.paint("toolDiffAdded")(f"+{added}")
    return f"{plus} {look.theme.paint('toolDiffRemoved')(f'-{removed}')}"


def _preview(call: ToolCallState, look: TranscriptOptions) -> Iterator[str]:
    """The arguments so far: the old lines, and the new ones."""
    edits = call.arguments.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            for sign, name in (("-", "oldText"), ("+", "newText")):
                text = edit.get(name)
                lines = sanitise(text).split("\n") if isinstance(text, str) and text else []
                yield from coloured([f"{sign} {line}" for line in lines], look)
