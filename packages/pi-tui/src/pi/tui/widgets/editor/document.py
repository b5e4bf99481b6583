"""The edited text with undo and kill ring; the edits of keys as data.

All changes go through ``Document``, so that they can be undone and the cursor is never inside a
grapheme or a paste marker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from pi.base.records import replace
from pi.base.terminal_text import sanitise
from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.buffer import START, Buffer, Edit, Position, after
from pi.tui.widgets.editor.history import KillRing
from pi.tui.widgets.editor.motions import Motion
from pi.tui.widgets.editor.text_units import PasteMarkers, TextUnits

MAX_STEPS = 1000


class UndoStack:
    """Steps of one or more edits, each undone and redone as a whole."""

    def __init__(self) -> None:
        self._undo_steps: list[list[Edit]] = []
        self._redo_steps: list[list[Edit]] = []

    def record(self, edit: Edit, *, joins: bool = False) -> None:
        """Record an edit as a new step, or join it to the last one."""
        self._redo_steps.clear()
        if not (joins and self._undo_steps):
            self._undo_steps.append([edit])
            del self._undo_steps[:-MAX_STEPS]
            return
        step = self._undo_steps[-1]
        last = step[-1]
        if not last.removed and not edit.removed and after(last.start, last.inserted) == edit.start:
            step[-1] = replace(last, inserted=last.inserted + edit.inserted)
        else:
            step.append(edit)

    def undo(self, buffer: Buffer) -> bool:
        """Revert the last step. Returns whether there was one."""
        return _apply_step(self._undo_steps, self._redo_steps, buffer)

    def redo(self, buffer: Buffer) -> bool:
        """Repeat the last reverted step. Returns whether there was one."""
        return _apply_step(self._redo_steps, self._undo_steps, buffer)

    @property
    def depth(self) -> int:
        """The number of steps that can be undone."""
        return len(self._undo_steps)

    def merge(self, depth: int) -> None:
        """Join the steps above ``depth`` into one."""
        steps = self._undo_steps[depth:]
        if len(steps) > 1:
            self._undo_steps[depth:] = [[edit for step in steps for edit in step]]

    def clear(self) -> None:
        """Drop all steps."""
        self._undo_steps.clear()
        self._redo_steps.clear()


def _apply_step(source: list[list[Edit]], target: list[list[Edit]], buffer: Buffer) -> bool:
    if not source:
        return False
    step = source.pop()
    inverses = []
    for edit in reversed(step):
        inverse = edit.inverse(buffer.cursor)
        buffer.apply(inverse)
        buffer.cursor = edit.cursor
        inverses.append(inverse)
    target.append(inverses)
    return True


TAB = " " * 4

_Step: TypeAlias = Literal["", "typed", "deleted", "killed", "yanked", "browsed"]
"""The last operation; some operations continue the previous one."""


class Document:
    """Text, cursor, undo, kill ring and paste markers.

    A ``private`` document keeps only the text: no undo, no kill ring, no markers. ``single_line``
    replaces line ends by spaces.
    """

    def __init__(self, *, private: bool = False, single_line: bool = False) -> None:
        self._private = private
        self._single_line = single_line
        self.buffer = Buffer()
        """The text, with markers for long pastes, and the cursor. Only the document changes it."""
        self._undo = UndoStack()
        self._kills = KillRing()
        self._markers = PasteMarkers()
        self._last: _Step = ""
        self._yanked_at = START
        self.version = 0
        """Changes with every change of the text."""
        self.units = TextUnits(self._markers.spans)

    @property
    def expanded(self) -> str:
        """The whole text, with long pastes in full."""
        return self._markers.expand(self.buffer.text)

    def move(self, motion: Motion) -> None:
        """Move the cursor."""
        self.move_to(motion(self.buffer, self.units))

    def move_to(self, position: Position) -> None:
        """Move the cursor to a position, or to the nearest valid one."""
        self._place_cursor(position)
        self._last = ""

    def type(self, text: str) -> None:
        """Insert typed text; the letters of a word are undone together."""
        text = self._normalised(text)
        joins = self._last == "typed" and not text[:1].isspace()
        self._replace(self.buffer.cursor, self.buffer.cursor, text, "typed", joins=joins)

    def insert(self, text: str) -> None:
        """Insert a text as one step."""
        self._replace(self.buffer.cursor, self.buffer.cursor, self._normalised(text), "")

    def paste(self, text: str) -> None:
        """Insert a pasted text, as a marker if it is long."""
        text = self._normalised(text)
        is_kept_whole = self._private or self._single_line
        self._replace(
            self.buffer.cursor,
            self.buffer.cursor,
            text if is_kept_whole else self._markers.shorten(text),
            "",
        )

    def delete(self, motion: Motion) -> None:
        """Delete from the cursor to the target of a motion."""
        start, end = self._range(motion)
        if start != end:
            self._replace(start, end, "", "deleted", joins=self._last == "deleted")

    def kill(self, motion: Motion) -> None:
        """Delete from the cursor to the target of a motion, and keep the text for ``yank``."""
        start, end = self._range(motion)
        if start == end:
            return
        killed = self.buffer.between(start, end)
        if not self._private:
            if self._last == "killed":
                self._kills.extend(killed, at_front=end == self.buffer.cursor)
            else:
                self._kills.add(killed)
        self._replace(start, end, "", "killed")

    def yank(self) -> None:
        """Insert the last killed text."""
        if text := self._kills.latest:
            self._yanked_at = self.buffer.cursor
            self._replace(self.buffer.cursor, self.buffer.cursor, text, "yanked")

    def yank_pop(self) -> None:
        """After a yank, replaces the inserted text by the one killed before it."""
        if self._last != "yanked":
            return
        start = self._yanked_at
        end = after(start, self._kills.latest)
        self._replace(start, end, self._kills.rotate(), "yanked", joins=True)

    def replace(self, start: Position, end: Position, text: str) -> None:
        """Replace the text between two positions as one step; the cursor moves behind it."""
        if start == end and not text:
            self.move_to(start)
        self._replace(start, end, text, "")

    @property
    def undo_mark(self) -> int:
        """The number of steps that can be undone, for ``merge_undo``."""
        return self._undo.depth

    def merge_undo(self, mark: int) -> None:
        """Join all steps since a mark: they are undone together."""
        self._undo.merge(mark)
        self._last = ""

    def undo(self) -> bool:
        """Revert the last step. Returns whether there was one."""
        return self._travelled(changed=self._undo.undo(self.buffer))

    def redo(self) -> bool:
        """Repeat the last reverted step. Returns whether there was one."""
        return self._travelled(changed=self._undo.redo(self.buffer))

    def set_text(
        self, text: str, cursor: Position | None = None, *, browsing: bool = False
    ) -> None:
        """Replace the text as one step; the cursor moves to ``cursor`` or to the end.

        Consecutive changes while ``browsing`` a history are one step.
        """
        joins = browsing and self._last == "browsed"
        step: _Step = "browsed" if browsing else ""
        self._replace(START, self.buffer.end, self._normalised(text), step, joins=joins)
        if cursor is not None:
            self._place_cursor(cursor)

    def clear(self) -> None:
        """Start a new text without undo and markers. The kill ring is kept."""
        self.version += 1
        self._kills.change(self._markers.expand)
        self.buffer = Buffer()
        self._undo.clear()
        self._markers.clear()
        self._last = ""

    def _travelled(self, *, changed: bool) -> bool:
        self._last = ""
        self.version += changed
        return changed

    def _normalised(self, text: str) -> str:
        text = sanitise(text).replace("\t", TAB)
        return text.strip("\n").replace("\n", " ") if self._single_line else text

    def _range(self, motion: Motion) -> tuple[Position, Position]:
        target = motion(self.buffer, self.units)
        return min(target, self.buffer.cursor), max(target, self.buffer.cursor)

    def _replace(
        self, start: Position, end: Position, text: str, step: _Step, *, joins: bool = False
    ) -> None:
        if start == end and not text:
            return
        self._last = step
        self.version += 1
        edit = self.buffer.replace(start, end, text)
        if not self._private:
            self._undo.record(edit, joins=joins)
        self._place_cursor(self.buffer.cursor)

    def _place_cursor(self, position: Position) -> None:
        row, col = self.buffer.nearest(position)
        self.buffer.cursor = Position(row, self.units.border(self.buffer.lines[row], col))


Do: TypeAlias = Callable[[Document], object]


def _move(motion: Motion) -> Do:
    return lambda document: document.move(motion)


def _delete(motion: Motion) -> Do:
    return lambda document: document.delete(motion)


def _kill(motion: Motion) -> Do:
    return lambda document: document.kill(motion)


EDITS: dict[str, Do] = {
    "tui.editor.cursorLeft": _move(motions.left),
    "tui.editor.cursorRight": _move(motions.right),
    "tui.editor.cursorWordLeft": _move(motions.word_left),
    "tui.editor.cursorWordRight": _move(motions.word_right),
    "tui.editor.cursorLineStart": _move(motions.line_start),
    "tui.editor.cursorLineEnd": _move(motions.line_end),
    "tui.editor.deleteCharBackward": _delete(motions.left),
    "tui.editor.deleteCharForward": _delete(motions.right),
    "tui.editor.deleteWordBackward": _kill(motions.word_left),
    "tui.editor.deleteWordForward": _kill(motions.word_right),
    "tui.editor.deleteToLineStart": _kill(motions.before_line),
    "tui.editor.deleteToLineEnd": _kill(motions.after_line),
    "tui.editor.yank": Document.yank,
    "tui.editor.yankPop": Document.yank_pop,
    "tui.editor.undo": Document.undo,
    "tui.editor.redo": Document.redo,
}


def edit(document: Document, actions: Sequence[str]) -> str | None:
    """Run the first action that is an edit. Returns its name.

    The multi-line editor and the single-line field share these edits.
    """
    for action in actions:
        if do := EDITS.get(action):
            do(document)
            return action
    return None
