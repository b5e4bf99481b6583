"""The text being edited, with everything that has to change along with it.

Every change goes through here, so that it can be undone, and so that the cursor never ends up
inside a character or a paste marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pi.base.terminal_text import sanitise
from pi.tui.widgets.editor.buffer import START, Buffer, Position, after
from pi.tui.widgets.editor.kill_ring import KillRing
from pi.tui.widgets.editor.motions import Motion
from pi.tui.widgets.editor.paste_markers import PasteMarkers
from pi.tui.widgets.editor.undo import UndoStack
from pi.tui.widgets.editor.units import Units

TAB = " " * 4

_Step: TypeAlias = Literal["", "typed", "deleted", "killed", "yanked", "browsed"]
"""What was done last; some things go on where they left off."""


class Document:
    """Text, cursor, undo, kill ring and paste markers.

    A ``private`` document keeps nothing of what was typed but the text itself: no undo, no kill
    ring, no markers. ``single_line`` turns line ends into blanks.
    """

    def __init__(self, *, private: bool = False, single_line: bool = False) -> None:
        self._private = private
        self._single_line = single_line
        self._buffer = Buffer()
        self._undo = UndoStack()
        self._kills = KillRing()
        self._markers = PasteMarkers()
        self._last: _Step = ""
        self._yanked_at = START
        self.version = 0
        """Another number after every change of the text."""
        self.units = Units(self._markers.spans)

    @property
    def lines(self) -> Sequence[str]:
        """The lines, with markers for long pastes."""
        return self._buffer.lines

    @property
    def text(self) -> str:
        """The whole text, with markers for long pastes."""
        return self._buffer.text

    @property
    def expanded(self) -> str:
        """The whole text, with long pastes in full."""
        return self._markers.expand(self.text)

    @property
    def cursor(self) -> Position:
        """Where typing goes."""
        return self._buffer.cursor

    def move(self, motion: Motion) -> None:
        """Move the cursor."""
        self.move_to(motion(self._buffer, self.units))

    def move_to(self, position: Position) -> None:
        """Put the cursor at a place, or at the nearest that there is."""
        self._place_cursor(position)
        self._last = ""

    def type(self, text: str) -> None:
        """Insert what was typed; letters of a word are undone together."""
        text = self._normalised(text)
        joins = self._last == "typed" and not text[:1].isspace()
        self._replace(self.cursor, self.cursor, text, "typed", joins=joins)

    def insert(self, text: str) -> None:
        """Insert a text as one step."""
        self._replace(self.cursor, self.cursor, self._normalised(text), "")

    def paste(self, text: str) -> None:
        """Insert a pasted text, as a marker if it is long."""
        text = self._normalised(text)
        is_kept_whole = self._private or self._single_line
        self._replace(
            self.cursor, self.cursor, text if is_kept_whole else self._markers.shorten(text), ""
        )

    def delete(self, motion: Motion) -> None:
        """Delete from the cursor to where a motion leads."""
        start, end = self._range(motion)
        if start != end:
            self._replace(start, end, "", "deleted", joins=self._last == "deleted")

    def kill(self, motion: Motion) -> None:
        """Delete from the cursor to where a motion leads, and keep it for ``yank``."""
        start, end = self._range(motion)
        if start == end:
            return
        killed = self._buffer.between(start, end)
        if not self._private:
            if self._last == "killed":
                self._kills.extend(killed, at_front=end == self.cursor)
            else:
                self._kills.add(killed)
        self._replace(start, end, "", "killed")

    def yank(self) -> None:
        """Insert what was killed last."""
        if text := self._kills.latest:
            self._yanked_at = self.cursor
            self._replace(self.cursor, self.cursor, text, "yanked")

    def yank_pop(self) -> None:
        """Right after a yank: insert what was killed before that instead."""
        if self._last != "yanked":
            return
        start = self._yanked_at
        end = after(start, self._kills.latest)
        self._replace(start, end, self._kills.rotate(), "yanked", joins=True)

    def undo(self) -> bool:
        """Take the last step back; whether there was one."""
        return self._travelled(changed=self._undo.undo(self._buffer))

    def redo(self) -> bool:
        """Make the last undone step again; whether there was one."""
        return self._travelled(changed=self._undo.redo(self._buffer))

    def set_text(
        self, text: str, cursor: Position | None = None, *, browsing: bool = False
    ) -> None:
        """Replace everything, as one step; the cursor goes to the end, or where it is told.

        Going through a history while ``browsing`` is one step as a whole.
        """
        joins = browsing and self._last == "browsed"
        step: _Step = "browsed" if browsing else ""
        self._replace(START, self._buffer.end, self._normalised(text), step, joins=joins)
        if cursor is not None:
            self._place_cursor(cursor)

    def clear(self) -> None:
        """Begin another text: nothing to undo, no markers. What was killed stays."""
        self.version += 1
        self._kills.change(self._markers.expand)
        self._buffer = Buffer()
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
        target = motion(self._buffer, self.units)
        return min(target, self.cursor), max(target, self.cursor)

    def _replace(
        self, start: Position, end: Position, text: str, step: _Step, *, joins: bool = False
    ) -> None:
        if start == end and not text:
            return
        self._last = step
        self.version += 1
        edit = self._buffer.replace(start, end, text)
        if not self._private:
            self._undo.record(edit, joins=joins)
        self._place_cursor(self.cursor)

    def _place_cursor(self, position: Position) -> None:
        row, col = self._buffer.nearest(position)
        self._buffer.cursor = Position(row, self.units.border(self.lines[row], col))
