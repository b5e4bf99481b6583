"""Vim keys of the editor: modes, counts, operators that wait for a motion, and the repetition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol, TypeAlias

from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.vim_motions import Span, Target
from pi.tui.widgets.editor.vim_objects import OBJECTS
from pi.tui.widgets.editor.vim_text import VimText

Mode: TypeAlias = Literal["insert", "normal", "visual", "lines"]

PREFIX = "tui.vim."
MAX_COUNT = 9999
_OPERATORS = {"delete", "change", "yank"}
_FINDS = {"findForward", "findBackward", "tillForward", "tillBackward"}
_AWAITING = {*_FINDS, "goto", "replace"}
_LABELS: dict[Mode, str] = {
    "insert": "INSERT",
    "normal": "NORMAL",
    "visual": "VISUAL",
    "lines": "VISUAL LINE",
}


class VimHost(Protocol):
    """The members of the editor that the mode uses."""

    def handle_input(self, data: str) -> None:
        """Handle a key, as if it had been pressed."""
        ...

    def browse_history(self, step: int) -> None:
        """Show an earlier or later prompt."""
        ...


class VimMode:
    """Turns keys into changes of a document.

    Keys arrive as actions of the keymap, so that each can be bound to another key. Digits and the
    characters that ``f``, ``t`` and ``r`` wait for are used as typed.
    """

    def __init__(self, document: Document, host: VimHost) -> None:
        self._mode: Mode = "insert"
        self._text = VimText(document)
        self._document = document
        self._host = host
        self._count = ""
        self._operator = ""
        self._operator_count = ""
        self._waiting = ""
        """The action that waits for another key: a find, ``goto``, ``replace``, an object."""
        self._typed = ""
        """The keys of the command so far, for the label."""
        self._last_find: tuple[str, str] | None = None
        """The last find: its action and its character."""
        self._anchor = Position(0, 0)
        """The start of the visual selection."""
        self._undo_mark = 0
        """The undo mark from the start of insert mode: its changes are undone together."""
        self._keys: list[str] | None = None
        """The keys of the current command; ``None`` while text is typed without one."""
        self._last_change: list[str] = []
        self._replays = False

    # Interface for the editor ---------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """The current mode."""
        return self._mode

    @property
    def label(self) -> str:
        """The mode and the keys of an incomplete command."""
        return f"{_LABELS[self._mode]} {self._typed}".rstrip()

    @property
    def selection(self) -> tuple[Position, Position] | None:
        """The selected text: its start, and the position after its end."""
        span = self._selected()
        return None if span is None else (span.start, span.end)

    def captures(self, actions: Sequence[str]) -> bool:
        """Whether the mode handles a key before the application does.

        Escape in normal mode, without a command that has begun, is left to the application.
        """
        own = [action for action in actions if action.startswith(PREFIX)]
        if f"{PREFIX}normal" in own:
            return self._mode != "normal" or bool(self._typed)
        return self._mode != "insert" and (bool(own) or bool(self._waiting))

    def reset(self) -> None:
        """Start a new text, in insert mode."""
        self._end_command()
        self._enter("insert")
        self._keys = None
        self._undo_mark = self._document.undo_mark

    def text_changed(self) -> None:
        """Put the cursor onto a character after a change that no vim command made."""
        if self._mode == "normal":
            self._text.settle(self._text.cursor)

    def handle_input(self, data: str, actions: Sequence[str], text: str) -> bool:
        """Handle a key; returns whether it was used."""
        names = [action.removeprefix(PREFIX) for action in actions if action.startswith(PREFIX)]
        if self._mode == "insert":
            if self._keys is not None:
                self._keys.append(data)
            if "normal" in names:
                self._leave_insert()
            return "normal" in names
        if "normal" in names:
            self._to_normal()
            return True
        if not names and not text:
            return False
        if self._keys is None:
            self._keys = []
        self._keys.append(data)
        self._typed += text
        self._handle_command_key(names, text)
        if self._mode == "normal" and not self._typed:
            self._keys = None  # the command is complete
        return True

    # Keys of a command ----------------------------------------------------------------------------

    def _handle_command_key(self, names: Sequence[str], text: str) -> None:
        has_object = bool(self._operator) or self._mode != "normal"
        awaited = _first(names, {"inner", "around"}) if has_object else ""
        if self._waiting:
            waiting, self._waiting = self._waiting, ""
            self._finish_waiting(waiting, names, text)
        elif text.isdigit() and (text != "0" or self._count):
            self._count = str(min(int(self._count + text), MAX_COUNT))
        elif awaited or (awaited := _first(names, _AWAITING)):
            self._waiting = awaited
        elif operator := _first(names, _OPERATORS):
            self._handle_operator(operator)
        elif not self._handle_motion(names):
            self._act(names)

    def _finish_waiting(self, waiting: str, names: Sequence[str], text: str) -> None:
        if waiting == "goto" and "goto" in names:
            row = min(self._number or 1, len(self._text.lines)) - 1
            self._move(Target(self._text.line_start(row), "lines"))
        elif waiting == "replace" and text:
            self._replace_characters(text)
        elif waiting in _FINDS and text:
            self._last_find = (waiting, text)
            self._find(waiting, text)
        elif waiting in ("inner", "around"):
            self._handle_object(_first(names, OBJECTS.keys()), around=waiting == "around")
        else:
            self._end_command()

    def _handle_operator(self, operator: str) -> None:
        selected = self._selected()
        if selected is not None:
            self._operate(operator, selected)
        elif self._operator == operator:  # twice: whole lines
            self._operate(operator, self._text.rows_from_cursor(self._number or 1))
        elif self._operator:
            self._end_command()
        else:
            self._operator, self._operator_count, self._count = operator, self._count, ""

    def _handle_object(self, name: str, *, around: bool) -> None:
        text = self._text
        span = (
            OBJECTS[name](text.lines, text.cursor, self._document.units, around) if name else None
        )
        operator = self._operator
        if span is None:
            self._end_command()
        elif operator:
            self._operate(operator, span)
            if operator == "yank":
                text.settle(span.start)
        else:
            self._anchor = span.start
            self._enter("lines" if span.is_lines else self._mode)
            text.settle(text.before(span.end))
            self._end_command()

    @property
    def _number(self) -> int | None:
        """The count of the command; a count before the operator multiplies."""
        if not (self._count or self._operator_count):
            return None
        return min(int(self._count or "1") * int(self._operator_count or "1"), MAX_COUNT)

    def _end_command(self) -> None:
        self._count = self._operator = self._operator_count = self._waiting = self._typed = ""

    # Motions --------------------------------------------------------------------------------------

    def _handle_motion(self, names: Sequence[str]) -> bool:
        """Run a motion; returns whether the key was one."""
        if "repeatFind" in names or "repeatFindBack" in names:
            self._repeat_find(opposite="repeatFind" not in names)
            return True
        if vertical := _first(names, {"up", "down"}):
            step, last = (-1, 0) if vertical == "up" else (1, len(self._text.lines) - 1)
            if self._text.cursor.row == last and self._mode == "normal":
                if not self._operator:
                    self._host.browse_history(step)
                self._end_command()
                return True
        for name in names:
            changes = self._operator == "change"
            target = self._text.target(name, self._number, changes=changes)
            if target is not None:
                self._move(target, name)
                return True
        return False

    def _move(self, target: Target, name: str = "") -> None:
        if self._operator:
            self._operate(self._operator, self._text.span_to(target, name))
        else:
            self._text.settle(target.position)
            self._end_command()

    def _find(self, kind: str, char: str) -> None:
        target = self._text.found(kind, char, self._number or 1)
        if target is None:
            self._end_command()
        else:
            self._move(target)

    def _repeat_find(self, *, opposite: bool) -> None:
        if self._last_find is None:
            self._end_command()
            return
        kind, char = self._last_find
        if opposite:
            is_forward = kind.endswith("Forward")
            before, now = ("Forward", "Backward") if is_forward else ("Backward", "Forward")
            kind = kind.removesuffix(before) + now
        self._find(kind, char)

    # Changes --------------------------------------------------------------------------------------

    def _operate(self, operator: str, span: Span) -> None:
        """Run an operator on a text and end the command."""
        cursor = self._text.cursor
        self._end_command()
        self._enter("normal")
        match operator:
            case "yank":
                self._text.yank(span)
                row = span.start.row
                self._text.settle(Position(row, cursor.col) if span.is_lines else span.start)
            case "delete":
                self._text.delete(span)
                self._changed()
            case "change":
                self._text.yank(span)
                self._undo_mark = self._document.undo_mark
                self._enter("insert")
                self._document.replace(span.start, span.end, "")

    def _put(self, *, before: bool) -> None:
        selected, count = self._selected(), self._number or 1
        self._end_command()
        self._enter("normal")
        self._text.put(count, before=before, selected=selected)
        self._changed()

    def _replace_characters(self, char: str) -> None:
        selected, count = self._selected(), self._number or 1
        span = selected or self._text.characters(count)
        self._end_command()
        self._enter("normal")
        self._text.replace_characters(span, char)
        last = self._text.before(self._text.cursor)
        self._text.settle(span.start if selected is not None else last)
        self._changed()

    def _toggle_case(self) -> None:
        selected, count = self._selected(), self._number or 1
        span = selected or self._text.characters(count)
        self._end_command()
        self._enter("normal")
        self._text.toggle_case(span)
        self._text.settle(span.start if selected is not None else span.end)
        self._changed()

    def _join(self) -> None:
        count = max((self._number or 1) - 1, 1)
        self._end_command()
        self._enter("normal")
        self._text.join(count)
        self._changed()

    def _undo(self, *, again: bool = False) -> None:
        step = self._document.redo if again else self._document.undo
        for _ in range(self._number or 1):
            if not step():
                break
        self._end_command()
        self._text.settle(self._text.cursor)

    def _characters(self, operator: str, *, back: bool = False) -> None:
        selected = self._selected()
        self._operate(operator, selected or self._text.characters(self._number or 1, back=back))

    def _to_line_end(self, operator: str) -> None:
        start = self._text.cursor
        last = min(start.row + (self._number or 1), len(self._text.lines)) - 1
        self._operate(operator, self._selected() or Span(start, self._text.line_end(last)))

    def _changed(self) -> None:
        """Keep the keys of a change for the repetition."""
        if not self._replays and self._keys is not None:
            self._last_change = self._keys
        self._keys = None

    def _repeat(self) -> None:
        count, keys = self._number or 1, list(self._last_change)
        self._end_command()
        self._keys, self._replays = None, True
        try:
            for data in keys * count:
                self._host.handle_input(data)
        finally:
            self._replays = False

    # Modes ----------------------------------------------------------------------------------------

    def _enter(self, mode: Mode) -> None:
        self._mode = mode
        self._text.is_on_character = mode == "normal"

    def _insert(self, position: Position) -> None:
        self._begin_insert()
        self._document.move_to(position)

    def _open_line(self, row: int) -> None:
        self._begin_insert()
        self._text.open_line(row)

    def _begin_insert(self) -> None:
        self._end_command()
        self._undo_mark = self._document.undo_mark
        self._enter("insert")

    def _leave_insert(self) -> None:
        if self._document.undo_mark != self._undo_mark:
            self._changed()
        self._keys = None
        self._document.merge_undo(self._undo_mark)
        self._enter("normal")
        row, col = self._text.cursor
        before = self._document.units.before(self._text.lines[row], col)
        self._text.settle(Position(row, before))

    def _select(self, mode: Mode) -> None:
        self._end_command()
        if self._mode == mode:
            self._to_normal()
            return
        if self._mode == "normal":
            self._anchor = self._text.cursor
        self._enter(mode)

    def _swap_ends(self) -> None:
        self._end_command()
        anchor, self._anchor = self._anchor, self._text.cursor
        self._text.settle(anchor)

    def _selected(self) -> Span | None:
        """Return the selection; ``None`` in other modes."""
        start, end = sorted((self._anchor, self._text.cursor))
        match self._mode:
            case "lines":
                return self._text.rows(start.row, end.row)
            case "visual":
                return Span(start, self._text.after(end))
        return None

    def _to_normal(self) -> None:
        self._end_command()
        self._keys = None
        self._enter("normal")
        self._text.settle(self._text.cursor)

    def _act(self, names: Sequence[str]) -> None:
        """Run a command without a motion; after an operator, the command is cancelled."""
        do = next((_COMMANDS[name] for name in names if name in _COMMANDS), None)
        if do is None or self._operator:
            self._end_command()
        else:
            do(self)


def _first(names: Sequence[str], searched: Collection[str]) -> str:
    return next((name for name in names if name in searched), "")


def _append(vim: VimMode) -> None:
    selected = vim._selected()
    vim._insert(vim._text.after(vim._text.cursor) if selected is None else selected.end)


def _open_below(vim: VimMode) -> None:
    if vim._selected() is None:
        vim._open_line(vim._text.cursor.row + 1)
    else:
        vim._swap_ends()


_COMMANDS: dict[str, Callable[[VimMode], None]] = {
    "insert": lambda vim: vim._insert(vim._text.cursor),
    "append": _append,
    "insertLineStart": lambda vim: vim._insert(vim._text.line_start(vim._text.cursor.row)),
    "appendLineEnd": lambda vim: vim._insert(vim._text.line_end(vim._text.cursor.row)),
    "openBelow": _open_below,
    "openAbove": lambda vim: vim._open_line(vim._text.cursor.row),
    "visual": lambda vim: vim._select("visual"),
    "visualLine": lambda vim: vim._select("lines"),
    "deleteChar": lambda vim: vim._characters("delete"),
    "deleteCharBack": lambda vim: vim._characters("delete", back=True),
    "substitute": lambda vim: vim._characters("change"),
    "substituteLine": lambda vim: vim._operate(
        "change", vim._text.rows_from_cursor(vim._number or 1)
    ),
    "deleteToLineEnd": lambda vim: vim._to_line_end("delete"),
    "changeToLineEnd": lambda vim: vim._to_line_end("change"),
    "yankLine": lambda vim: vim._operate("yank", vim._text.rows_from_cursor(vim._number or 1)),
    "put": lambda vim: vim._put(before=False),
    "putBefore": lambda vim: vim._put(before=True),
    "toggleCase": VimMode._toggle_case,
    "join": VimMode._join,
    "undo": VimMode._undo,
    "redo": lambda vim: vim._undo(again=True),
    "repeat": VimMode._repeat,
}
