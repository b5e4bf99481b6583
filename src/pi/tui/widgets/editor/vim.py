"""Vim keys of the editor: modes, counts, operators, the register and the repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pi.tui.widgets.editor import vim_motions as motions
from pi.tui.widgets.editor.buffer import Position, after
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.vim_motions import OBJECTS, Span, Target

Mode: TypeAlias = Literal["insert", "normal", "visual", "lines"]

PREFIX = "tui.vim."
MAX_COUNT = 9999
_OPERATORS = {"delete", "change", "yank"}
_FINDS = {"findForward", "findBackward", "tillForward", "tillBackward"}
_LABELS: dict[Mode, str] = {
    "insert": "INSERT",
    "normal": "NORMAL",
    "visual": "VISUAL",
    "lines": "VISUAL LINE",
}


class Register(NamedTuple):
    """The text that ``p`` inserts."""

    text: str = ""
    is_lines: bool = False


class VimHost(Protocol):
    """What the mode needs of the editor."""

    def handle_input(self, data: str) -> None:
        """Handles a key, as if it had been pressed."""
        ...

    def browse_history(self, step: int) -> None:
        """Shows an earlier or later prompt."""
        ...


class VimMode:
    """Turns keys into changes of a document.

    Keys come as actions of the keymap, so that each can be bound to another key. Digits and the
    characters that ``f``, ``t`` and ``r`` wait for are taken as typed.
    """

    def __init__(self, document: Document, host: VimHost) -> None:
        self.mode: Mode = "insert"
        self._document = document
        self._host = host
        self._register = Register()
        self._count = ""
        self._operator = ""
        self._operator_count = ""
        self._waiting = ""
        """The action that waits for another key: a find, ``goto``, ``replace``, an object."""
        self._typed = ""
        """The keys of the command so far, for the label."""
        self._found: tuple[str, str] | None = None
        """The last find: its action and its character."""
        self._anchor = Position(0, 0)
        """Where the visual selection began."""
        self._column: int | None = None
        """The column of vertical moves."""
        self._undo_mark = 0
        self._keys: list[str] = []
        """The keys of the current command."""
        self._last_change: list[str] = []
        self._replays = False

    # What the editor asks -------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The mode and the keys of an incomplete command."""
        return f"{_LABELS[self.mode]} {self._typed}".rstrip()

    @property
    def selection(self) -> tuple[Position, Position] | None:
        """The selected text: its start, and the position after its end."""
        if self.mode not in ("visual", "lines"):
            return None
        span = self._selected()
        return span.start, span.end

    def captures(self, actions: Sequence[str]) -> bool:
        """Whether a key belongs to the mode before the application sees it.

        Escape in normal mode, without a command that has begun, is left to the application.
        """
        own = [action for action in actions if action.startswith(PREFIX)]
        if f"{PREFIX}normal" in own:
            return self.mode != "normal" or bool(self._typed)
        return self.mode != "insert" and (bool(own) or bool(self._waiting))

    def reset(self) -> None:
        """Starts a new text, in insert mode."""
        self._end_command()
        self.mode = "insert"
        self._keys = []
        self._undo_mark = self._document.undo_mark

    def text_changed(self) -> None:
        """Puts the cursor onto a character after a change from elsewhere."""
        if self.mode == "normal":
            self._settle(self._document.cursor)

    def handle_input(self, data: str, actions: Sequence[str], text: str) -> bool:
        """Handles a key; returns whether it was used."""
        names = [action.removeprefix(PREFIX) for action in actions if action.startswith(PREFIX)]
        if self.mode == "insert":
            if "normal" not in names:
                if not self._replays:
                    self._keys.append(data)
                return False
            self._leave_insert(data)
            return True
        if "normal" in names:
            self._to_normal()
            return True
        if not names and not text:
            return False
        if not self._keys or not (self._typed or self.mode != "normal"):
            self._keys = []
        self._keys.append(data)
        self._take(names, text)
        return True

    # Keys of a command ----------------------------------------------------------------------------

    def _take(self, names: Sequence[str], text: str) -> None:
        self._typed += text
        if self._waiting:
            waiting, self._waiting = self._waiting, ""
            self._finish_waiting(waiting, names, text)
        elif text.isdigit() and (text != "0" or self._count):
            self._count = str(min(int(self._count + text), MAX_COUNT))
        elif (object := self._awaited_object(names)) is not None:
            self._waiting = object
        elif (awaited := next((n for n in names if n in _FINDS | {"goto", "replace"}), "")) != "":
            self._waiting = awaited
        elif "repeatFind" in names or "repeatFindBack" in names:
            self._repeat_find(opposite="repeatFind" not in names)
        elif (operator := next((n for n in names if n in _OPERATORS), "")) != "":
            self._take_operator(operator)
        elif (target := self._target(names)) is not None:
            self._move(target, names)
        else:
            self._act(names)

    def _awaited_object(self, names: Sequence[str]) -> str | None:
        if not self._operator and self.mode == "normal":
            return None
        return next((name for name in names if name in ("inner", "around")), None)

    def _finish_waiting(self, waiting: str, names: Sequence[str], text: str) -> None:
        if waiting == "goto" and "goto" in names:
            row = min(self._number(1), len(self._lines)) - 1
            self._move(Target(self._line_start(row), "lines"), ("goto",))
        elif waiting == "replace" and text:
            self._replace_characters(text)
        elif waiting in _FINDS and text:
            self._found = (waiting, text)
            self._move_by_find(waiting, text)
        elif waiting in ("inner", "around"):
            self._take_object(names, around=waiting == "around")
        else:
            self._end_command()

    def _take_operator(self, operator: str) -> None:
        if self.mode != "normal":
            self._operate(operator, self._selected())
        elif self._operator == operator:  # twice: whole lines
            self._operate(operator, self._rows(self._number(1)))
        elif self._operator:
            self._end_command()
        else:
            self._operator, self._operator_count, self._count = operator, self._count, ""

    def _take_object(self, names: Sequence[str], *, around: bool) -> None:
        name = next((name for name in names if name in OBJECTS), None)
        units, at = self._document.units, self._document.cursor
        span = None if name is None else OBJECTS[name](self._lines, at, units, around)
        if span is None:
            self._end_command()
        elif self._operator:
            operator = self._operator
            self._operate(operator, span)
            if operator == "yank":
                self._settle(span.start)
        else:
            self._anchor = span.start
            self.mode = "lines" if span.is_lines else self.mode
            self._settle(self._before(span.end))
            self._end_command()

    def _number(self, default: int) -> int:
        """Returns the count of the command; a count before the operator multiplies."""
        if not (self._count or self._operator_count):
            return default
        return min(int(self._count or "1") * int(self._operator_count or "1"), MAX_COUNT)

    def _end_command(self) -> None:
        self._count = self._operator = self._operator_count = self._waiting = self._typed = ""

    # Motions --------------------------------------------------------------------------------------

    def _target(self, names: Sequence[str]) -> Target | None:
        """Returns where a motion leads; ``None`` if the key is no motion."""
        for name in names:
            if name in _MOTIONS:
                return _MOTIONS[name](self, self._number(1))
        return None

    def _move(self, target: Target, names: Sequence[str]) -> None:
        if "down" not in names and "up" not in names:
            self._column = None
        if self._operator:
            self._operate(self._operator, self._span_to(target, names))
        else:
            self._settle(target.at)
            self._end_command()

    def _span_to(self, target: Target, names: Sequence[str]) -> Span:
        """Returns the text between the cursor and the target of a motion."""
        here, at = self._document.cursor, target.at
        if target.extent == "lines":
            first, last = sorted((here.row, at.row))
            return Span(Position(first, 0), Position(last, len(self._lines[last])), is_lines=True)
        if target.extent == "exclusive" and at.row > here.row and _is_word(names):
            at = Position(at.row - 1, len(self._lines[at.row - 1]))  # the line end stays
        start, end = min(here, at), max(here, at)
        if target.extent == "inclusive":
            return Span(start, self._behind(end))
        if end.row > start.row and not end.col:  # before a line: the line end before it stays
            end = Position(end.row - 1, len(self._lines[end.row - 1]))
            if start.col <= motions.first_non_blank(self._lines[start.row]):
                return Span(Position(start.row, 0), end, is_lines=True)
        return Span(start, end)

    def _move_by_find(self, kind: str, char: str) -> None:
        back, till = kind.endswith("Backward"), kind.startswith("till")
        row, col = self._document.cursor
        for number in range(self._number(1)):
            # Before the next hit, ``t`` would find the same one again.
            start = col
            if till and number:
                start = col + (-1 if back else 1)
            found = motions.find_in_line(
                self._lines[row], start, char, self._document.units, back=back, till=till
            )
            if found is None:
                self._end_command()
                return
            col = found
        self._move(Target(Position(row, col), "exclusive" if back else "inclusive"), ())

    def _repeat_find(self, *, opposite: bool) -> None:
        if self._found is None:
            self._end_command()
            return
        kind, char = self._found
        if opposite:
            swap = {"Forward": "Backward", "Backward": "Forward"}
            end = "Forward" if kind.endswith("Forward") else "Backward"
            kind = kind.removesuffix(end) + swap[end]
        self._move_by_find(kind, char)

    def _vertical(self, rows: int) -> Target:
        row, col = self._document.cursor
        if self._column is None:
            self._column = col
        return Target(
            Position(min(max(row + rows, 0), len(self._lines) - 1), self._column), "lines"
        )

    def _repeated(self, step: Callable[[Position], Position], count: int) -> Position:
        at = self._document.cursor
        for _ in range(count):
            at = step(at)
        return at

    def _line_start(self, row: int) -> Position:
        return Position(row, motions.first_non_blank(self._lines[row]))

    # Changes --------------------------------------------------------------------------------------

    def _operate(self, operator: str, span: Span) -> None:
        """Runs an operator on a text and ends the command."""
        document, here = self._document, self._document.cursor
        self._register = Register(document.between(span.start, span.end), span.is_lines)
        self.mode = "normal"
        self._end_command()
        match operator:
            case "yank":
                self._settle(Position(span.start.row, here.col) if span.is_lines else span.start)
            case "delete":
                self._delete(span)
                self._remember_change()
            case "change":
                self._undo_mark = document.undo_mark
                document.replace(span.start, span.end, "")
                self.mode = "insert"

    def _delete(self, span: Span) -> None:
        start, end = span.start, span.end
        if span.is_lines:
            if end.row + 1 < len(self._lines):
                end = Position(end.row + 1, 0)
            elif start.row:
                start = Position(start.row - 1, len(self._lines[start.row - 1]))
        self._document.replace(start, end, "")
        row = min(span.start.row, len(self._lines) - 1)
        self._settle(self._line_start(row) if span.is_lines else span.start)

    def _put(self, *, before: bool) -> None:
        document, (text, is_lines) = self._document, self._register
        text = text if not is_lines else text + "\n"
        text *= self._number(1)
        selected = self._selected() if self.mode != "normal" else None
        self._end_command()
        self.mode = "normal"
        if not text:
            return
        mark = document.undo_mark
        if selected is not None:
            self._register = Register(
                document.between(selected.start, selected.end), selected.is_lines
            )
            document.replace(selected.start, selected.end, "")
            before = True
            document.move_to(selected.start)
        row, col = document.cursor
        if is_lines and selected is None:
            self._put_lines(text, row if before else row + 1)
        else:
            at = Position(row, col) if before else self._behind(Position(row, col))
            document.replace(at, at, text.removesuffix("\n") if is_lines else text)
            self._settle(self._before(after(at, text)))
        document.merge_undo(mark)
        self._remember_change()

    def _put_lines(self, text: str, row: int) -> None:
        if row < len(self._lines):
            at = Position(row, 0)
            self._document.replace(at, at, text)
        else:
            at = Position(row - 1, len(self._lines[-1]))
            self._document.replace(at, at, f"\n{text.removesuffix(chr(10))}")
        self._settle(self._line_start(row))

    def _replace_characters(self, char: str) -> None:
        start, end = self._document.cursor, self._document.cursor
        if self.mode != "normal":
            start, end = self._selected().start, self._selected().end
            text = self._document.between(start, end)
            self._document.replace(start, end, "".join(char if c != "\n" else c for c in text))
        else:
            count = self._number(1)
            for _ in range(count):
                end = self._behind(end)
            if self._document.between(start, end):
                self._document.replace(start, end, char * count)
        last = self._before(self._document.cursor) if self.mode == "normal" else start
        self.mode = "normal"
        self._end_command()
        self._settle(last)
        self._remember_change()

    def _toggle_case(self) -> None:
        start = self._document.cursor
        end = start
        if self.mode != "normal":
            start, end = self._selected().start, self._selected().end
        else:
            for _ in range(self._number(1)):
                end = self._behind(end)
        self._document.replace(start, end, self._document.between(start, end).swapcase())
        was_visual, self.mode = self.mode != "normal", "normal"
        self._end_command()
        self._settle(start if was_visual else end)
        self._remember_change()

    def _join(self) -> None:
        count = max(self._number(1) - 1, 1)
        mark = self._document.undo_mark
        row = self._document.cursor.row
        for _ in range(count):
            if row + 1 >= len(self._lines):
                break
            line, following = self._lines[row], self._lines[row + 1]
            indent = len(following) - len(following.lstrip())
            space = " " if line and following.strip() and not line.endswith(" ") else ""
            end = Position(row, len(line))
            self._document.replace(end, Position(row + 1, indent), space)
            self._settle(end)
        self._document.merge_undo(mark)
        self.mode = "normal"
        self._end_command()
        self._remember_change()

    def _undo(self, *, again: bool = False) -> None:
        step = self._document.redo if again else self._document.undo
        for _ in range(self._number(1)):
            if not step():
                break
        self._end_command()
        self._settle(self._document.cursor)

    def _repeat(self) -> None:
        count = self._number(1)
        self._end_command()
        keys, self._replays = list(self._last_change), True
        try:
            for data in keys * count:
                self._host.handle_input(data)
        finally:
            self._replays = False

    # Insert mode ----------------------------------------------------------------------------------

    def _insert(self, at: Position) -> None:
        self._end_command()
        self._undo_mark = self._document.undo_mark
        self.mode = "insert"
        self._document.move_to(at)

    def _open_line(self, row: int) -> None:
        self._end_command()
        self._undo_mark = self._document.undo_mark
        if row < len(self._lines):
            self._document.replace(Position(row, 0), Position(row, 0), "\n")
            self._document.move_to(Position(row, 0))
        else:
            end = Position(row - 1, len(self._lines[row - 1]))
            self._document.replace(end, end, "\n")
        self.mode = "insert"

    def _leave_insert(self, data: str) -> None:
        if not self._replays:
            self._keys.append(data)
            if len(self._keys) > 1 and self._document.undo_mark != self._undo_mark:
                self._last_change = list(self._keys)
        self._document.merge_undo(self._undo_mark)
        self.mode = "normal"
        row, col = self._document.cursor
        self._settle(Position(row, self._document.units.before(self._lines[row], col)))
        self._keys = []

    def _remember_change(self) -> None:
        if not self._replays:
            self._last_change = list(self._keys)
        self._keys = []

    # Visual mode ----------------------------------------------------------------------------------

    def _select(self, mode: Mode) -> None:
        self._end_command()
        if self.mode == mode:
            self._to_normal()
            return
        if self.mode == "normal":
            self._anchor = self._document.cursor
        self.mode = mode

    def _swap_ends(self) -> None:
        self._end_command()
        if self.mode != "normal":
            here, self._anchor = self._document.cursor, self._anchor
            anchor, self._anchor = self._anchor, here
            self._settle(anchor)

    def _selected(self) -> Span:
        start, end = sorted((self._anchor, self._document.cursor))
        if self.mode == "lines":
            return Span(
                Position(start.row, 0), Position(end.row, len(self._lines[end.row])), is_lines=True
            )
        return Span(start, self._behind(end))

    def _to_normal(self) -> None:
        self.mode = "normal"
        self._end_command()
        self._keys = []
        self._settle(self._document.cursor)

    # Positions ------------------------------------------------------------------------------------

    @property
    def _lines(self) -> Sequence[str]:
        return self._document.lines

    def _settle(self, at: Position) -> None:
        """Moves the cursor, in normal mode onto a character."""
        row = min(max(at.row, 0), len(self._lines) - 1)
        line = self._lines[row]
        last = len(line)
        if self.mode == "normal":
            last = motions.last_column(line, self._document.units)
        self._document.move_to(Position(row, max(min(at.col, last), 0)))

    def _behind(self, at: Position) -> Position:
        line = self._lines[at.row]
        return Position(at.row, self._document.units.after(line, at.col))

    def _before(self, at: Position) -> Position:
        if not at.col and at.row:
            return Position(at.row - 1, len(self._lines[at.row - 1]))
        return Position(at.row, self._document.units.before(self._lines[at.row], at.col))

    def _rows(self, count: int) -> Span:
        row = self._document.cursor.row
        last = min(row + count, len(self._lines)) - 1
        return Span(Position(row, 0), Position(last, len(self._lines[last])), is_lines=True)

    # Commands -------------------------------------------------------------------------------------

    def _act(self, names: Sequence[str]) -> None:
        if self._operator:  # not a motion: the command is cancelled
            self._end_command()
            return
        for name in names:
            if do := _COMMANDS.get(name):
                do(self)
                return
        self._end_command()

    def _to_line_end(self, operator: str) -> None:
        row, col = self._document.cursor
        last = min(row + self._number(1), len(self._lines)) - 1
        if self.mode != "normal":
            self._operate(operator, self._selected())
        else:
            self._operate(
                operator, Span(Position(row, col), Position(last, len(self._lines[last])))
            )

    def _characters(self, operator: str, *, back: bool = False) -> None:
        if self.mode != "normal":
            self._operate(operator, self._selected())
            return
        line, units = self._lines[self._document.cursor.row], self._document.units
        step = units.before if back else units.after
        col = self._repeated(lambda at: Position(at.row, step(line, at.col)), self._number(1)).col
        row, here = self._document.cursor
        self._operate(operator, Span(Position(row, min(here, col)), Position(row, max(here, col))))


def _is_word(names: Sequence[str]) -> bool:
    return any(name in ("wordForward", "bigWordForward") for name in names)


def _word(name: str, step: Callable[..., Position], *, big: bool) -> _Motion:
    def motion(vim: VimMode, count: int) -> Target:
        document = vim._document
        line, col = document.lines[document.cursor.row], document.cursor.col
        is_on_word = bool(line[col : col + 1].strip())
        # ``cw`` changes to the end of the word, as it always did in vi.
        if name == "forward" and vim._operator == "change" and is_on_word:
            at = document.units.before(line, col) if col else -1
            first = motions.word_end(
                document.lines, Position(document.cursor.row, at), document.units, big=big
            )
            rest = first
            for _ in range(count - 1):
                rest = motions.word_end(document.lines, rest, document.units, big=big)
            return Target(rest, "inclusive")
        at_end = vim._repeated(lambda at: step(document.lines, at, document.units, big=big), count)
        return Target(at_end, "inclusive" if name == "end" else "exclusive")

    return motion


_Motion: TypeAlias = Callable[[VimMode, int], Target | None]


def _left(vim: VimMode, count: int) -> Target:
    row, _ = vim._document.cursor
    before = vim._document.units.before
    step = vim._repeated(lambda at: Position(row, before(vim._lines[row], at.col)), count)
    return Target(step)


def _right(vim: VimMode, count: int) -> Target:
    row, _ = vim._document.cursor
    behind = vim._document.units.after
    step = vim._repeated(lambda at: Position(row, behind(vim._lines[row], at.col)), count)
    return Target(step)


def _vertical(sign: int) -> _Motion:
    def motion(vim: VimMode, count: int) -> Target | None:
        row = vim._document.cursor.row
        at_edge = row == (0 if sign < 0 else len(vim._lines) - 1)
        if at_edge and vim._operator:
            return None
        if at_edge and vim.mode == "normal":
            vim._host.browse_history(sign)
            return Target(vim._document.cursor, "lines")
        return vim._vertical(sign * count)

    return motion


def _line_end(vim: VimMode, count: int) -> Target:
    row = min(vim._document.cursor.row + count - 1, len(vim._lines) - 1)
    line = vim._lines[row]
    if not line:
        return Target(Position(row, 0))
    return Target(Position(row, motions.last_column(line, vim._document.units)), "inclusive")


def _last_line(vim: VimMode, count: int) -> Target:
    row = vim._number(len(vim._lines))
    return Target(vim._line_start(min(row, len(vim._lines)) - 1), "lines")


def _pair(vim: VimMode, count: int) -> Target:
    found = motions.match_pair(vim._lines, vim._document.cursor)
    return Target(vim._document.cursor) if found is None else Target(found, "inclusive")


_MOTIONS: dict[str, _Motion] = {
    "left": _left,
    "right": _right,
    "up": _vertical(-1),
    "down": _vertical(1),
    "wordForward": _word("forward", motions.word_forward, big=False),
    "bigWordForward": _word("forward", motions.word_forward, big=True),
    "wordBack": _word("back", motions.word_back, big=False),
    "bigWordBack": _word("back", motions.word_back, big=True),
    "wordEnd": _word("end", motions.word_end, big=False),
    "bigWordEnd": _word("end", motions.word_end, big=True),
    "lineStart": lambda vim, count: Target(Position(vim._document.cursor.row, 0)),
    "firstNonBlank": lambda vim, count: Target(vim._line_start(vim._document.cursor.row)),
    "lineEnd": _line_end,
    "lastLine": _last_line,
    "matchPair": _pair,
}

_COMMANDS: dict[str, Callable[[VimMode], None]] = {
    "insert": lambda vim: vim._insert(vim._document.cursor),
    "append": lambda vim: vim._insert(
        vim._behind(vim._document.cursor) if vim.mode == "normal" else vim._selected().end
    ),
    "insertLineStart": lambda vim: vim._insert(vim._line_start(vim._document.cursor.row)),
    "appendLineEnd": lambda vim: vim._insert(
        Position(vim._document.cursor.row, len(vim._lines[vim._document.cursor.row]))
    ),
    "openBelow": lambda vim: (
        vim._open_line(vim._document.cursor.row + 1) if vim.mode == "normal" else vim._swap_ends()
    ),
    "openAbove": lambda vim: vim._open_line(vim._document.cursor.row),
    "visual": lambda vim: vim._select("visual"),
    "visualLine": lambda vim: vim._select("lines"),
    "deleteChar": lambda vim: vim._characters("delete"),
    "deleteCharBack": lambda vim: vim._characters("delete", back=True),
    "substitute": lambda vim: vim._characters("change"),
    "substituteLine": lambda vim: vim._operate("change", vim._rows(vim._number(1))),
    "deleteToLineEnd": lambda vim: vim._to_line_end("delete"),
    "changeToLineEnd": lambda vim: vim._to_line_end("change"),
    "yankLine": lambda vim: vim._operate("yank", vim._rows(vim._number(1))),
    "put": lambda vim: vim._put(before=False),
    "putBefore": lambda vim: vim._put(before=True),
    "toggleCase": VimMode._toggle_case,
    "join": VimMode._join,
    "undo": VimMode._undo,
    "redo": lambda vim: vim._undo(again=True),
    "repeat": VimMode._repeat,
}
