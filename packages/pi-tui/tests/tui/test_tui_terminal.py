"""Resizes, lost contents, release and disconnection of the terminal."""

from __future__ import annotations

import pytest

from tests.tui.parts import Rows, numbered
from tests.tui.program import Program


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_resize_is_painted_once_after_the_debounce() -> None:
    program = Program(Rows(*numbered(20)))
    program.timers.advance(1)

    for columns in (30, 40, 50, 20):  # a drag that ends at the original size
        program.terminal.resize(columns, 6)
        program.tui.request_render()
        program.tui.render_now()

    written = program.writes()
    assert ([text.count("\x1b[3J") for text in written], program.terminal.tape) == (
        [1],
        numbered(20),
    )


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_resize_inside_a_pane_does_not_rewrite_history() -> None:
    program = Program(Rows(*numbered(20)), env={"TERM": "tmux-256color"})
    program.timers.advance(1)

    program.terminal.resize(20, 4)

    (written,) = program.writes()
    assert ("\x1b[3J" in written, "\x1b[2J" in written, "row 0" in written) == (False,) * 3
    assert program.terminal.tape == numbered(20)


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_pane_is_painted_only_after_tmux_reported_every_size() -> None:
    program = Program(Rows(*numbered(20)), env={"TMUX": "1"})
    program.timers.advance(1)
    before = len(program.terminal.output)

    program.terminal.resize(20, 4)
    program.timers.advance(0.25)  # as long as tmux delays the report of the next size

    assert program.terminal.output[before:] == []
    assert len(program.writes()) == 1


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
def test_a_frame_taken_at_an_unreported_size_is_written_again() -> None:
    rows = Rows(*numbered(20))
    program = Program(rows, env={"TMUX": "1"})
    program.terminal.type("\x1b[8;6;20t")

    rows.rows = numbered(24)
    program.tui.request_render()
    program.timers.advance(0.02)
    program.terminal.type("\x1b[8;4;20t")
    program.terminal.resize(20, 4)

    (written,) = program.writes()
    assert [f"row {number}" in written for number in (15, 16, 23)] == [False, True, True]


class Slow(Rows):
    """Rows that draw so slowly that the terminal is resized meanwhile."""

    program: Program | None = None

    def render(self, width: int) -> list[str]:
        if self.program is not None:
            self.program.terminal.resize(20, 4)
        return super().render(width)


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
def test_a_frame_is_not_written_if_the_size_changed_while_it_was_drawn() -> None:
    rows = Slow(*numbered(20))
    program = Program(rows, env={"TMUX": "1"})
    before = len(program.terminal.output)

    rows.program, rows.rows = program, numbered(24)
    program.tui.request_render()
    program.timers.advance(0.02)

    assert program.terminal.output[before:] == []
    assert not program.tui.is_painted


def test_clearing_the_scrollback_erases_history_outside_a_pane() -> None:
    rows = Rows(*numbered(20))
    program = Program(rows)

    rows.rows = ["new"]
    program.tui.request_render(clear_scrollback=True)

    assert (program.shown(), program.terminal.history) == (["new"], [])


def test_clearing_the_scrollback_inside_a_pane_writes_the_content_below() -> None:
    rows = Rows(*numbered(9))
    program = Program(rows, env={"TMUX": "1"})

    rows.rows = [f"new {number}" for number in range(8)]
    program.tui.request_render(clear_scrollback=True)
    program.timers.advance(1)

    assert program.terminal.tape == [*numbered(3), *rows.rows]


def test_resetting_the_display_invalidates_components() -> None:
    rows = Rows("a")
    program = Program(rows)

    program.tui.reset_display()

    assert (rows.forgotten, program.shown()) == (1, ["a"])


def test_a_forced_render_repairs_the_window() -> None:
    program = Program(Rows("a", "b"))
    program.terminal.write("\rgarbage")

    program.tui.request_render(force=True)

    assert program.shown() == ["a", "b"]


@pytest.mark.behaviour("exit-restores-the-terminal")
def test_stopping_paints_the_last_frame_and_restores_the_terminal() -> None:
    rows = Rows("a")
    program = Program(rows)
    rows.rows = ["a", "last"]
    program.tui.request_render()

    program.tui.stop()
    program.tui.stop()

    assert [row for row in program.terminal.screen if row] == ["a", "last"]
    assert program.terminal.output[-1] == "\x1b[?7h\x1b[<u\r\r\n\x1b[?25h\x1b[?2004l"
    assert (program.terminal.cursor, program.terminal.mode(2004)) == ((0, 2), False)
    assert program.writes() == []


def test_closing_sequences_are_written_last_on_restore() -> None:
    program = Program(Rows("a"))
    program.tui.closing_sequences = lambda: "<farewell>"

    program.tui.stop()

    assert program.terminal.output[-1].endswith("\x1b[?2004l<farewell>")


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_a_disconnected_terminal_ends_the_program() -> None:
    rows = Rows("a")
    program = Program(rows)

    program.terminal.vanish()
    rows.rows = ["b"]
    program.tui.request_render()

    assert (program.gone, program.writes()) == (True, [])


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_no_frame_is_written_while_output_is_pending() -> None:
    rows = Rows("a")
    program = Program(rows)
    program.terminal.backlog = 1

    for number in range(50):
        rows.rows = [str(number)]
        program.tui.request_render()
        assert program.writes() == []
    program.terminal.backlog = 0

    assert len(program.writes()) == 1


@pytest.mark.behaviour("suspend-and-resume")
def test_after_a_suspend_the_window_is_shown_again() -> None:
    program = Program(Rows(*numbered(10)))
    program.timers.advance(1)

    program.tui.suspend()

    assert program.terminal.suspended == 1
    assert program.terminal.mode(2004)
    assert program.terminal.tape[-12:] == [*numbered(6, first=4), *numbered(6, first=4)]
