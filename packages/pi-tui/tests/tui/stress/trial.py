"""Runs operations on a real ``TUI`` with a real emulator, and compares after every frame."""

from __future__ import annotations

import re
from typing import NamedTuple

from pi.tui.component import CURSOR_MARKER
from pi.tui.display import RegularDisplay
from pi.tui.overlays import OverlayHandle, OverlayOptions
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.tui.manual_timers import ManualTimers
from tests.tui.stress.operations import CHANGES, Operation
from tests.tui.stress.shadow import Drawn, Shadow, plain
from tests.tui.stress.simulated_app import Box, Chrome, SimulatedApp, Transcript, chrome_rows

SYNC, END_SYNC, WRAP_OFF, WRAP_ON = "\x1b[?2026h", "\x1b[?2026l", "\x1b[?7l", "\x1b[?7h"
DESTRUCTIVE = ("\x1b[3J", "\x1b[2J", "\x1b[H", "\x1b[22J", "\x1bc")

_MARKS = re.compile("[\u0300-\u036f\ufe0f\u200d\U0001f1e6-\U0001f1ff]")


class Shape(NamedTuple):
    """A kind of terminal."""

    columns: int
    rows: int
    pane: bool
    before: int
    """Rows of a shell on the screen at start."""


SHAPES = (
    Shape(80, 24, pane=False, before=3),
    Shape(40, 10, pane=False, before=0),
    Shape(24, 5, pane=False, before=9),
    Shape(100, 40, pane=False, before=39),
    Shape(80, 24, pane=True, before=2),
    Shape(33, 7, pane=True, before=20),
)


class Violation(AssertionError):
    """The contract is broken."""


class Trial:
    """One terminal, one program on it, and the shadow with the expected contents."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.shape = shape
        self.app = SimulatedApp(seed)
        self.timers = ManualTimers()
        self.terminal = VirtualTerminal(shape.columns, shape.rows)
        before = [f"shell {number}" for number in range(shape.before)]
        self.terminal.write("".join(f"{row}\r\n" for row in before))
        self.tui = TUI(
            self.terminal, env={"TERM": "tmux-256color"} if shape.pane else {}, strict=True
        )
        self.tui.add_child(Transcript(self.app))
        self.tui.add_child(Chrome(self.app))
        self.shadow = Shadow(before)
        self.shown: tuple[OverlayHandle, Box] | None = None
        self.edited: set[str] = set()
        """Lines that were edited into rows of history and therefore are not visible."""
        self.wipe = False
        """Whether the next frame may erase history."""
        self.tui.start(self.timers)
        self.compare()

    def run(self, operations: list[Operation]) -> None:
        for operation in operations:
            self.apply(operation)

    def apply(self, operation: Operation) -> None:
        if operation.name in CHANGES:
            CHANGES[operation.name][0](self.app, operation.amount)
            self.tui.request_render()
            if operation.paint:
                self.paint()
        else:
            getattr(self, operation.name)(operation.amount)

    def paint(self) -> None:
        written = len(self.terminal.output)
        self.timers.advance(0.02)
        self.check_bytes("".join(self.terminal.output[written:]))
        self.compare()

    def resize(self, amount: int) -> None:
        self.change_size(20 + amount % 90, 3 + amount % 37)

    def resize_height(self, amount: int) -> None:
        self.change_size(self.terminal.size.columns, 3 + amount % 37)

    def change_size(self, columns: int, rows: int) -> None:
        self.paint()
        before = self.terminal.size.columns
        self.terminal.resize(columns, rows)
        self.wipe = not self.shape.pane
        written = len(self.terminal.output)
        self.timers.advance(0.4)
        self.check_bytes("".join(self.terminal.output[written:]))
        if self.shape.pane:
            self.accept_pane(same_width=columns == before)
        else:
            self.compare()

    def clear(self, amount: int) -> None:
        """Opens another session."""
        self.app.blocks.clear()
        self.app.add_block(amount % 50, is_final=True)
        self.wipe = not self.shape.pane
        self.tui.request_render(force=True, clear_scrollback=True)
        self.paint()

    def overlay(self, amount: int) -> None:
        if self.shown is not None:
            self.shown[0].hide()
            self.shown = None
        else:
            box = Box(1 + amount % 6)
            size = self.terminal.size
            options = OverlayOptions(
                width=4 + amount % (size.columns - 4),
                row=amount % size.rows,
                col=amount % size.columns,
                non_capturing=amount % 2 == 0,
            )
            self.shown = (self.tui.show_overlay(box, options), box)
        self.tui.request_render()
        self.paint()

    def scroll(self, amount: int) -> None:
        """Scrolls up while the answer streams; the visible text must not move."""
        self.paint()
        up = min(len(self.terminal.history), 1 + amount % 60)
        self.terminal.scroll_up(up)
        seen = self.terminal.view[:up]
        CHANGES["stream"][0](self.app, amount)
        self.tui.request_render()
        self.paint()
        if up and self.terminal.view[: len(seen)] != seen:
            raise Violation(f"the reader saw {seen}, and now {self.terminal.view}")
        self.terminal.scroll_up(-1_000_000)

    def suspend(self, amount: int) -> None:
        """Suspends and resumes the program."""
        self.paint()
        shown = self.shadow.window
        self.shadow.above += shown if shown != [""] else []
        self.tui.suspend()
        self.compare()

    def drawn(self) -> Drawn:
        columns = self.terminal.size.columns
        transcript = Transcript(self.app)
        rows = transcript.render(columns)
        place = None
        if self.shown is not None and (bounds := self.shown[0].bounds) is not None:
            lines = self.shown[1].render(bounds.width)[: bounds.height]
            place = (bounds.row, bounds.column, lines)
        return Drawn(
            rows=[*rows, *chrome_rows(self.app, columns)],
            live=transcript.live_region_start,
            safe=transcript.commit_safe_end,
            overlay=place,
        )

    def compare(self) -> None:
        size = self.terminal.size
        self.shadow.height = size.rows
        self.shadow.draw(self.drawn(), columns=size.columns, wipe=self.wipe)
        self.wipe = False
        self.compare_tape()

    def compare_tape(self) -> None:
        actual = [_without_marks(row) for row in _without_blank_end(self.terminal.tape)]
        expected = [_without_marks(row) for row in self.shadow.tape()]
        if actual != expected:
            raise Violation(_difference(expected, actual))
        self.compare_cursor()

    def compare_cursor(self) -> None:
        column, row = self.terminal.cursor
        place = (len(self.terminal.history) + row, column)
        expected = (len(self.shadow.above) + self.shadow.caret[0], self.shadow.caret[1])
        if place != expected:
            raise Violation(f"the cursor is at {place} and not at {expected}")

    def accept_pane(self, *, same_width: bool) -> None:
        """Checks a pane: no row may be lost, and the window must match."""
        display = self.tui.display
        assert isinstance(display, RegularDisplay)
        drawn, ledger, tape = self.drawn(), display.ledger, self.terminal.tape
        rows = [plain(row) for row in drawn.rows]
        shown = rows[: ledger.committed] + (rows[ledger.top :] if self.shown is None else [])
        self.edited |= _numbers(self.shadow.edited())
        everything = "".join(tape)  # a pane may join wrapped rows and wrap them again
        if lost := {line for line in _numbers(shown) - self.edited if line not in everything}:
            raise Violation(f"lost in a resize of a pane: {lost}")
        self.shadow.height = self.terminal.size.rows
        self.shadow.show(drawn, ledger.top, columns=self.terminal.size.columns)
        start = len(self.terminal.history) + self.terminal.cursor[1] - self.shadow.caret[0]
        self.shadow.above = tape[:start]
        # At the same width, history still has rows that were edited since; otherwise it is read
        # again.
        kept = self.shadow.committed[: ledger.committed] if same_width else []
        self.shadow.committed = kept + rows[len(kept) : ledger.committed]
        self.shadow.last = rows
        if not same_width:
            self.shadow.settled = 0
        self.shadow.settle(drawn.boundary)
        self.compare_tape()

    def check_bytes(self, written: str) -> None:
        if not self.wipe and any(sequence in written for sequence in DESTRUCTIVE):
            raise Violation(f"something was erased without being asked: {written!r}")
        if CURSOR_MARKER in written:
            raise Violation("a cursor marker reached the terminal")
        for on, off in ((SYNC, END_SYNC), (WRAP_OFF, WRAP_ON)):
            if written.count(on) != written.count(off):
                raise Violation(f"{on!r} is not closed: {written!r}")


def _numbers(rows: list[str]) -> set[str]:
    """Returns the numbers of the lines that begin in these rows."""
    return {row[:5] for row in rows if row[:5].isdigit()}


def _without_marks(row: str) -> str:
    """Returns a row without what the emulator drops in the last column without wrapping."""
    return _MARKS.sub("", row)


def _without_blank_end(rows: list[str]) -> list[str]:
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _difference(expected: list[str], actual: list[str]) -> str:
    pairs = enumerate(zip(expected, actual, strict=False))
    first = next((number for number, (a, b) in pairs if a != b), min(len(expected), len(actual)))
    around = slice(max(0, first - 3), first + 6)
    return f"row {first} differs: expected {expected[around]}, got {actual[around]}"
