"""Diffs as rows: numbers, tinted rows, syntax colours, differing words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.word_changes import WordChange, changed_words, pair_lines
from pi.tui.style import Paint
from pi.tui.text.width import (
    expand_tabs,
    pad_to_width,
    slice_columns,
    truncate_to_width,
    visible_width,
)
from pi.tui.text.wrap import wrap_text
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


def language_of(path: str) -> str:
    """Return the language of a file for the highlighter; empty if unknown."""
    name = path.rpartition("/")[2].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


# Lines of a diff ----------------------------------------------------------------------------------


class DiffLine(NamedTuple):
    """One line. ``sign`` is ``-``, ``+``, a space, or empty where lines are left out."""

    sign: str
    number: int | None
    """The number in the new text; removed lines have none."""
    text: str
    words: tuple[WordChange, ...] = ()
    """Its parts, if some of them differ from the line that it replaces or is replaced by."""


_NUMBERED = re.compile(r"([-+ ])( *\d+) (.*)")
_RUN = re.compile(r"(-*)(\+*)(?<=[-+])")


def read_diff(lines: Sequence[str]) -> list[DiffLine]:
    """Parse the signed and numbered lines of an edit; old numbers of kept lines are updated."""
    diff_lines: list[DiffLine] = []
    shift = 0
    for line in lines:
        parts = _NUMBERED.fullmatch(line)
        if parts is None:
            is_gap = line.strip() == "..."
            diff_lines.append(
                DiffLine("", None, "⋯") if is_gap else DiffLine(line[:1], None, line[2:])
            )
            continue
        sign, number, text = parts[1], int(parts[2]), parts[3]
        match sign:
            case "-":
                shift -= 1
                diff_lines.append(DiffLine("-", None, text))
            case "+":
                shift += 1
                diff_lines.append(DiffLine("+", number, text))
            case _:
                diff_lines.append(DiffLine(" ", number + shift, text))
    return with_words(diff_lines)


def with_words(lines: Sequence[DiffLine]) -> list[DiffLine]:
    """Compare the words of lines that replace each other."""
    signs = "".join(line.sign or " " for line in lines)
    expanded = [line._replace(text=expand_tabs(line.text)) for line in lines]
    for run in _RUN.finditer(signs):
        old, new = run.start(1), run.start(2)
        removed = [line.text for line in expanded[old : run.end(1)]]
        added = [line.text for line in expanded[new : run.end(2)]]
        for before, after in pair_lines(removed, added):
            was, now = changed_words(removed[before], added[after])
            if any(part.differs for part in (*was, *now)):
                expanded[old + before] = expanded[old + before]._replace(words=tuple(was))
                expanded[new + after] = expanded[new + after]._replace(words=tuple(now))
    return expanded


class _Look(NamedTuple):
    """The paints of lines with one sign."""

    sign: Paint
    text: Paint
    word: Paint
    row: Paint


MAX_WRAPPED = 3
"""Rows of a long line while the diff is folded."""
MAX_HIGHLIGHTED = 200
"""Lines of a diff above which it has no syntax colours: they take half a millisecond per line."""

_TOKENS = {"-": "toolDiffRemoved", "+": "toolDiffAdded"}


def diff_rows(
    lines: Sequence[DiffLine], theme: Theme, width: int, *, language: str, wraps_all: bool = True
) -> list[list[str]]:
    """Return the rows of each line: one, or several for a long line.

    Without ``wraps_all`` a long line has at most ``MAX_WRAPPED`` rows.
    """
    code = _highlight_lines(lines, theme, language) if theme.has_backgrounds else None
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    looks = {sign: _look_of(sign, theme) for sign in ("-", "+", " ", "")}
    dim = theme.paint("dim")
    drawn: list[list[str]] = []
    for index, line in enumerate(lines):
        style = looks[line.sign if line.sign in looks else " "]
        text = code[index] if code else style.text(line.text)
        text = _with_words(text, line.words, style.word)
        number = "" if line.number is None else str(line.number)
        head = (dim(f"{number:>{digits}}") + " " if digits else "") + style.sign(line.sign or " ")
        text_width = max(width - (digits + 1 if digits else 0) - 2, 1)
        pieces = wrap_text(text, text_width) if visible_width(text) > text_width else [text]
        if not wraps_all and len(pieces) > MAX_WRAPPED:
            pieces = [
                *pieces[: MAX_WRAPPED - 1],
                f"{truncate_to_width(pieces[-1], text_width - 1, '')}…",
            ]
        blank = " " * visible_width(head)
        heads = [head] + [blank] * (len(pieces) - 1)
        drawn.append(
            [
                style.row(truncate_to_width(pad_to_width(f"{start} {piece}", width), width, ""))
                for start, piece in zip(heads, pieces, strict=True)
            ]
        )
    return drawn


def _look_of(sign: str, theme: Theme) -> _Look:
    token = _TOKENS.get(sign)
    if token is None:
        context = theme.paint("toolDiffContext" if sign else "dim")
        return _Look(context, context, context, _keep_text)
    if theme.has_backgrounds:
        return _Look(
            theme.paint(token),
            theme.paint(token),
            theme.paint(f"{token}WordBg"),
            theme.paint(f"{token}Bg"),
        )
    return _Look(
        theme.paint(token), theme.paint(token), theme.paint(token, underline=True), _keep_text
    )


def _highlight_lines(lines: Sequence[DiffLine], theme: Theme, language: str) -> list[str] | None:
    """Return the lines in the colours of their language; ``None`` if it is unknown or too long.

    Both sides are highlighted separately.
    """
    if not language or len(lines) > MAX_HIGHLIGHTED:
        return None
    rows = [theme.paint("dim")(line.text) for line in lines]
    # Kept lines have the colours of the new side, which is highlighted last.
    for sign in ("-", "+"):
        indexes = [number for number, line in enumerate(lines) if line.sign in (sign, " ")]
        code = highlight("\n".join(lines[index].text for index in indexes), language, theme.code)
        for index, row in zip(indexes, code, strict=False):
            rows[index] = row
    return rows


def _with_words(text: str, words: Sequence[WordChange], paint: Paint) -> str:
    """Mark the parts of a line that differ."""
    if not words:
        return text
    parts: list[str] = []
    column = 0
    for word in words:
        size = visible_width(word.text)
        piece = slice_columns(text, column, size)
        # A mark on an indentation looks like an error.
        parts.append(paint(piece) if word.differs and word.text.strip() else piece)
        column += size
    return "".join(parts) + slice_columns(text, column, max(visible_width(text) - column, 0))


def _keep_text(text: str) -> str:
    return text
