"""Views of read, write and edit, and how diffs are drawn. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeGuard

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.transcript.block import (
    ToolCallState,
    TranscriptOptions,
    clipped,
    more_rows,
)
from pi.modes.interactive.transcript.tool_views.view import DrawnCall, counted, failure, folded_head
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
    return counted(lines, "line")


def language_of(path: str) -> str:
    """Return the language of a file for the highlighter; empty if unknown."""
    name = path.rpartition("/")[2].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


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
    note = look.theme.paint("dim")(counted(len(lines), "line")) + _diagnostics(call, look)
    # Hidden lines are not highlighted.
    shown = lines if look.is_expanded else lines[:WRITE_PREVIEW_ROWS]
    code = code_lines("\n".join(shown), path, look)
    return DrawnCall(
        title, folded_head(code, WRITE_PREVIEW_ROWS, look, width, total=len(lines)), note
    )


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
        return DrawnCall(title, rows, _size(lines, look) + _diagnostics(call, look))
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
    drawn = diff_rows(lines[:most], look, width, language=language_of(path))
    rows = [row for rows in drawn for row in rows]
    return [*rows, *clipped([more_rows(hidden, look)], width)] if hidden else rows


def _diagnostics(call: ToolCallState, look: TranscriptOptions) -> str:
    """The summary of problems that language servers found in the file; empty without any."""
    match call.details.get("diagnostics"):
        case {"summary": str(summary), "items": [*items]} if items:
            colour = "error" if "error" in summary else "warning"
            return look.theme.paint("dim")(" · ") + look.theme.paint(colour)(one_line(summary))
        case _:
            return ""


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
    return [*clipped([title], width), *_diff(lines, look, width, path, EDIT_PREVIEW_ROWS)]


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
    found: list[DiffLine] = []
    for number, edit in enumerate(edits if isinstance(edits, list) else ()):
        if isinstance(edit, dict) and (not only or number in only):
            for sign, name in (("-", "oldText"), ("+", "newText")):
                text = edit.get(name)
                # A line end at the end is no further line.
                lines = sanitise(text).removesuffix("\n").split("\n") if _has_text(text) else []
                found += [DiffLine(sign, None, line) for line in lines]
    # Arguments arrive in many pieces, and each frame begins anew: hidden lines are not compared.
    near = len(found) if look.is_expanded else MAX_PAIRS
    return [*with_words(found[:near]), *found[near:]]


def _has_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


# Word-level differences ---------------------------------------------------------------------------


LONGEST = 500
"""Line length above which words are not compared."""
MIN_ALIKE = 0.4
"""Minimum similarity of two lines for a word-level diff."""
MAX_PAIRS = 40
"""Changed lines in one place above which words are not compared."""
MAX_COMPARED = 150
"""Pairs of lines that are compared if one side has more lines than the other."""

_WORD = re.compile(r"\w+|\s+|.")


class WordChange(NamedTuple):
    """A part of a line, and whether it differs."""

    text: str
    differs: bool


def changed_words(old: str, new: str) -> tuple[list[WordChange], list[WordChange]]:
    """Split both lines; if they have little in common, each is one part without differences."""
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


def paired(removed: Sequence[str], added: Sequence[str]) -> list[tuple[int, int]]:
    """Return index pairs of a removed line and the added line that replaces it, in order.

    Other lines have no counterpart.
    """
    if len(removed) == len(added) <= MAX_PAIRS:
        return [(number, number) for number in range(len(removed))]
    if len(removed) * len(added) > MAX_COMPARED:
        return []
    # The best alignment of the lines from each pair on, as in a diff of the lines themselves.
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}
    for old in range(len(removed), -1, -1):
        for new in range(len(added), -1, -1):
            if old == len(removed) or new == len(added):
                best[old, new] = (0.0, [])
                continue
            found = max(best[old + 1, new], best[old, new + 1], key=lambda each: each[0])
            alike = _likeness(removed[old], added[new])
            score, pairs = best[old + 1, new + 1]
            if alike >= MIN_ALIKE and score + alike > found[0]:
                found = (score + alike, [(old, new), *pairs])
            best[old, new] = found
    return best[0, 0][1]


def _likeness(old: str, new: str) -> float:
    old, new = old.strip(), new.strip()
    if not old or not new or max(len(old), len(new)) > LONGEST:
        return 0.0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= MIN_ALIKE else 0.0


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
    found: list[DiffLine] = []
    shift = 0
    for line in lines:
        parts = _NUMBERED.fullmatch(line)
        if parts is None:
            is_gap = line.strip() == "..."
            found.append(DiffLine("", None, "⋯") if is_gap else DiffLine(line[:1], None, line[2:]))
            continue
        sign, number, text = parts[1], int(parts[2]), parts[3]
        match sign:
            case "-":
                shift -= 1
                found.append(DiffLine("-", None, text))
            case "+":
                shift += 1
                found.append(DiffLine("+", number, text))
            case _:
                found.append(DiffLine(" ", number + shift, text))
    return with_words(found)


def with_words(lines: Sequence[DiffLine]) -> list[DiffLine]:
    """Compare the words of lines that replace each other."""
    signs = "".join(line.sign or " " for line in lines)
    found = [line._replace(text=expand_tabs(line.text)) for line in lines]
    for run in _RUN.finditer(signs):
        old, new = run.start(1), run.start(2)
        removed = [line.text for line in found[old : run.end(1)]]
        added = [line.text for line in found[new : run.end(2)]]
        for before, after in paired(removed, added):
            was, now = changed_words(removed[before], added[after])
            if any(part.differs for part in (*was, *now)):
                found[old + before] = found[old + before]._replace(words=tuple(was))
                found[new + after] = found[new + after]._replace(words=tuple(now))
    return found


# Drawing of diffs ---------------------------------------------------------------------------------


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
    lines: Sequence[DiffLine], look: TranscriptOptions, width: int, *, language: str
) -> list[list[str]]:
    """Return the rows of each line: one, or several for a long line."""
    theme = look.theme
    code = _highlighted(lines, look, language) if theme.has_backgrounds else None
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    looks = {sign: _look_of(sign, look) for sign in ("-", "+", " ", "")}
    dim = theme.paint("dim")
    drawn: list[list[str]] = []
    for place, line in enumerate(lines):
        style = looks[line.sign if line.sign in looks else " "]
        text = code[place] if code else style.text(line.text)
        text = _with_words(text, line.words, style.word)
        number = "" if line.number is None else str(line.number)
        head = (dim(f"{number:>{digits}}") + " " if digits else "") + style.sign(line.sign or " ")
        room = max(width - (digits + 1 if digits else 0) - 2, 1)
        pieces = wrap_text(text, room) if visible_width(text) > room else [text]
        if not look.is_expanded and len(pieces) > MAX_WRAPPED:
            pieces = [*pieces[: MAX_WRAPPED - 1], f"{truncate_to_width(pieces[-1], room - 1, '')}…"]
        blank = " " * visible_width(head)
        heads = [head] + [blank] * (len(pieces) - 1)
        drawn.append(
            [
                style.row(truncate_to_width(pad_to_width(f"{start} {piece}", width), width, ""))
                for start, piece in zip(heads, pieces, strict=True)
            ]
        )
    return drawn


def _look_of(sign: str, look: TranscriptOptions) -> _Look:
    theme, token = look.theme, _TOKENS.get(sign)
    if token is None:
        context = theme.paint("toolDiffContext" if sign else "dim")
        return _Look(context, context, context, _unchanged)
    if theme.has_backgrounds:
        return _Look(
            theme.paint(token),
            theme.paint(token),
            theme.paint(f"{token}WordBg"),
            theme.paint(f"{token}Bg"),
        )
    return _Look(
        theme.paint(token), theme.paint(token), theme.paint(token, underline=True), _unchanged
    )


def _highlighted(
    lines: Sequence[DiffLine], look: TranscriptOptions, language: str
) -> list[str] | None:
    """Return the lines in the colours of their language; ``None`` if it is unknown or too long.

    Both sides are highlighted separately.
    """
    if not language or len(lines) > MAX_HIGHLIGHTED:
        return None
    rows = [look.theme.paint("dim")(line.text) for line in lines]
    # Kept lines have the colours of the new side, which is highlighted last.
    for sign in ("-", "+"):
        places = [number for number, line in enumerate(lines) if line.sign in (sign, " ")]
        code = highlight(
            "\n".join(lines[place].text for place in places), language, look.theme.code
        )
        for place, row in zip(places, code, strict=False):
            rows[place] = row
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


def _unchanged(text: str) -> str:
    return text
