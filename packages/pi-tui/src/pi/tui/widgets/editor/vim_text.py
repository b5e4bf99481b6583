"""Vim commands on a document: targets of motions, changes of operators, and the register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from pi.tui.widgets.editor import vim_motions as motions
from pi.tui.widgets.editor.buffer import Position, after
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.vim_motions import Span, Target


class Register(NamedTuple):
    """The text that ``p`` inserts."""

    text: str = ""
    is_lines: bool = False


class VimText:
    """Positions and changes, independent of keys and, except for ``is_on_character``, of modes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.is_on_character = False
        """Whether the cursor stands on a character, as in normal mode, not behind the last one."""
        self._register = Register()
        self._column: int | None = None
        """The column of vertical moves."""

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the document."""
        return self.document.buffer.lines

    @property
    def cursor(self) -> Position:
        """The cursor."""
        return self.document.buffer.cursor

    # Positions ------------------------------------------------------------------------------------

    def settle(self, position: Position) -> None:
        """Move the cursor to a position or the nearest one where it may stand."""
        row = min(max(position.row, 0), len(self.lines) - 1)
        line = self.lines[row]
        last = motions.last_column(line, self.document.units) if self.is_on_character else len(line)
        self.document.move_to(Position(row, max(min(position.col, last), 0)))

    def after(self, position: Position) -> Position:
        """Return the position after the character at a position."""
        return Position(
            position.row, self.document.units.after(self.lines[position.row], position.col)
        )

    def before(self, position: Position) -> Position:
        """Return the position of the character before a position."""
        if not position.col and position.row:
            return Position(position.row - 1, len(self.lines[position.row - 1]))
        return Position(
            position.row, self.document.units.before(self.lines[position.row], position.col)
        )

    def line_start(self, row: int) -> Position:
        """Return the first character of a line that is no space."""
        return Position(row, motions.first_non_blank(self.lines[row]))

    def line_end(self, row: int) -> Position:
        """Return the position after the last character of a line."""
        return Position(row, len(self.lines[row]))

    def rows(self, first: int, last: int) -> Span:
        """Return whole lines."""
        return Span(Position(first, 0), self.line_end(last), is_lines=True)

    def rows_from_cursor(self, count: int) -> Span:
        """Return ``count`` lines from the cursor on."""
        row = self.cursor.row
        return self.rows(row, min(row + count, len(self.lines)) - 1)

    def characters(self, count: int, *, back: bool = False) -> Span:
        """Return characters at the cursor or before it, within the line."""
        row, col = self.cursor
        step = self.document.units.before if back else self.document.units.after
        for _ in range(count):
            col = step(self.lines[row], col)
        start, end = sorted((self.cursor, Position(row, col)))
        return Span(start, end)

    # Motions --------------------------------------------------------------------------------------

    def target(self, name: str, count: int | None, *, changes: bool) -> Target | None:
        """Return the target of a motion; ``None`` if there is no such motion.

        ``changes`` is set for ``c``, for which ``w`` ends with the word, as it always did in vi.
        """
        if name not in ("up", "down"):
            self._column = None
        if changes and name in ("wordForward", "bigWordForward") and self._is_on_word:
            return self._to_word_end(count or 1, big=name == "bigWordForward")
        motion = _MOTIONS.get(name)
        return None if motion is None else motion(self, count)

    def found(self, kind: str, char: str, count: int) -> Target | None:
        """Return the target of ``f``, ``F``, ``t`` or ``T``; ``None`` without one."""
        back, till = kind.endswith("Backward"), kind.startswith("till")
        row, col = self.cursor
        for number in range(count):
            # ``t`` stops beside a hit: from there it would find the same one again.
            start = col + (-1 if back else 1) if till and number else col
            column = motions.find_in_line(
                self.lines[row], start, char, self.document.units, back=back, till=till
            )
            if column is None:
                return None
            col = column
        return Target(Position(row, col), "exclusive" if back else "inclusive")

    def span_to(self, target: Target, name: str) -> Span:
        """Return the text between the cursor and the target of a motion."""
        cursor, destination = self.cursor, target.position
        if target.extent == "lines":
            return self.rows(*sorted((cursor.row, destination.row)))
        is_word = name in ("wordForward", "bigWordForward")
        if target.extent == "exclusive" and destination.row > cursor.row and is_word:
            destination = self.line_end(destination.row - 1)  # the line end stays
        start, end = min(cursor, destination), max(cursor, destination)
        if target.extent == "inclusive":
            return Span(start, self.after(end))
        if end.row > start.row and not end.col:  # before a line: the line end before it stays
            end = self.line_end(end.row - 1)
            if start.col <= motions.first_non_blank(self.lines[start.row]):
                return Span(Position(start.row, 0), end, is_lines=True)
        return Span(start, end)

    @property
    def _is_on_word(self) -> bool:
        row, col = self.cursor
        return bool(self.lines[row][col : col + 1].strip())

    def _to_word_end(self, count: int, *, big: bool) -> Target:
        row, col = self.cursor
        position = Position(row, self.document.units.before(self.lines[row], col) if col else -1)
        for _ in range(count):
            position = motions.word_end(self.lines, position, self.document.units, big=big)
        return Target(position, "inclusive")

    def vertical(self, rows: int) -> Target:
        """Return the target of ``j`` and ``k``; the column is kept across shorter lines."""
        row, col = self.cursor
        if self._column is None:
            self._column = col
        row = min(max(row + rows, 0), len(self.lines) - 1)
        return Target(Position(row, self._column), "lines")

    # Changes --------------------------------------------------------------------------------------

    def yank(self, span: Span) -> None:
        """Keep a text for ``put``."""
        text = self.document.buffer.between(span.start, span.end)
        self._register = Register(text, span.is_lines)

    def delete(self, span: Span) -> None:
        """Delete a text and keep it."""
        self.yank(span)
        start, end = span.start, span.end
        if span.is_lines:
            if end.row + 1 < len(self.lines):
                end = Position(end.row + 1, 0)
            elif start.row:
                start = self.line_end(start.row - 1)
        self.document.replace(start, end, "")
        row = min(span.start.row, len(self.lines) - 1)
        self.settle(self.line_start(row) if span.is_lines else span.start)

    def put(self, count: int, *, before: bool, selected: Span | None) -> None:
        """Insert the text of the register, in place of a selection if there is one."""
        text, is_lines = self._register
        text = (f"{text}\n" if is_lines else text) * count
        if not text:
            return
        mark = self.document.undo_mark
        if selected is not None:
            self.yank(selected)
            self.document.replace(selected.start, selected.end, "")
            self.document.move_to(selected.start)
        row, col = self.cursor
        if is_lines and selected is None:
            self._put_lines(text, row if before else row + 1)
        else:
            is_here = before or selected is not None
            position = Position(row, col) if is_here else self.after(Position(row, col))
            self.document.replace(position, position, text.removesuffix("\n") if is_lines else text)
            self.settle(self.before(after(position, text)))
        self.document.merge_undo(mark)

    def _put_lines(self, text: str, row: int) -> None:
        if row < len(self.lines):
            position = Position(row, 0)
            self.document.replace(position, position, text)
        else:
            position = self.line_end(row - 1)
            self.document.replace(position, position, "\n" + text.removesuffix("\n"))
        self.settle(self.line_start(row))

    def replace_characters(self, span: Span, char: str) -> None:
        """Replace every character, but not line ends."""
        text = self.document.buffer.between(span.start, span.end)
        replaced = "".join(character if character == "\n" else char for character in text)
        self.document.replace(span.start, span.end, replaced)

    def toggle_case(self, span: Span) -> None:
        """Swap upper and lower case."""
        text = self.document.buffer.between(span.start, span.end)
        self.document.replace(span.start, span.end, text.swapcase())

    def join(self, count: int) -> None:
        """Join lines with a space, ``count`` times."""
        mark, row = self.document.undo_mark, self.cursor.row
        for _ in range(count):
            if row + 1 >= len(self.lines):
                break
            line, following = self.lines[row], self.lines[row + 1]
            indent = len(following) - len(following.lstrip())
            space = " " if line and following.strip() and not line.endswith(" ") else ""
            end = self.line_end(row)
            self.document.replace(end, Position(row + 1, indent), space)
            self.settle(end)
        self.document.merge_undo(mark)

    def open_line(self, row: int) -> None:
        """Insert an empty line; the cursor moves there."""
        if row < len(self.lines):
            self.document.replace(Position(row, 0), Position(row, 0), "\n")
            self.document.move_to(Position(row, 0))
        else:
            end = self.line_end(row - 1)
            self.document.replace(end, end, "\n")


# Motions by action --------------------------------------------------------------------------------


_Motion: TypeAlias = Callable[[VimText, int | None], Target]
_Step: TypeAlias = Callable[..., Position]


def _word(step: _Step, *, big: bool, at_end: bool = False) -> _Motion:
    def motion(text: VimText, count: int | None) -> Target:
        position = text.cursor
        for _ in range(count or 1):
            position = step(text.lines, position, text.document.units, big=big)
        return Target(position, "inclusive" if at_end else "exclusive")

    return motion


def _sideways(*, back: bool) -> _Motion:
    def motion(text: VimText, count: int | None) -> Target:
        span = text.characters(count or 1, back=back)
        return Target(span.start if back else span.end)

    return motion


def _line_end(text: VimText, count: int | None) -> Target:
    row = min(text.cursor.row + (count or 1) - 1, len(text.lines) - 1)
    if not text.lines[row]:
        return Target(Position(row, 0))
    column = motions.last_column(text.lines[row], text.document.units)
    return Target(Position(row, column), "inclusive")


def _last_line(text: VimText, count: int | None) -> Target:
    row = min(count or len(text.lines), len(text.lines)) - 1
    return Target(text.line_start(row), "lines")


def _pair(text: VimText, count: int | None) -> Target:
    position = motions.match_pair(text.lines, text.cursor)
    return Target(text.cursor) if position is None else Target(position, "inclusive")


_MOTIONS: dict[str, _Motion] = {
    "left": _sideways(back=True),
    "right": _sideways(back=False),
    "up": lambda text, count: text.vertical(-(count or 1)),
    "down": lambda text, count: text.vertical(count or 1),
    "wordForward": _word(motions.word_forward, big=False),
    "bigWordForward": _word(motions.word_forward, big=True),
    "wordBack": _word(motions.word_back, big=False),
    "bigWordBack": _word(motions.word_back, big=True),
    "wordEnd": _word(motions.word_end, big=False, at_end=True),
    "bigWordEnd": _word(motions.word_end, big=True, at_end=True),
    "lineStart": lambda text, count: Target(Position(text.cursor.row, 0)),
    "firstNonBlank": lambda text, count: Target(text.line_start(text.cursor.row)),
    "lineEnd": _line_end,
    "lastLine": _last_line,
    "matchPair": _pair,
}
