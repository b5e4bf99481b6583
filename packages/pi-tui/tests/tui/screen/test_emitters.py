from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pi.tui.images.protocols import CellExtent, place
from pi.tui.screen.emitters import (
    RowWriter,
    boundary_rewrite,
    full_paint,
    scroll_append,
    window_diff,
)
from pi.tui.screen.rows import RowPrinter
from pi.tui.testing import VirtualTerminal
from tests.tui.parts import numbered
from tests.tui.stress.tmux_model import TmuxModel

append_three = partial(scroll_append, leaving=3)
Emitter = Callable[[RowWriter, Sequence[str]], None]
PRINTER = RowPrinter(20, strict=True)


def emitted(emit: Emitter, painted: list[str], rows: list[str], *, row: int = 0) -> str:
    writer = RowWriter(PRINTER, painted, row)
    emit(writer, rows)
    return writer.text()


def test_a_diff_writes_only_rows_that_changed() -> None:
    assert emitted(window_diff, ["a", "b", "c"], ["a", "x", "c"], row=2) == (
        "\x1b[1A\rx\x1b[0m\x1b]8;;\x07\x1b[K"
    )


def test_a_diff_of_the_same_rows_writes_nothing() -> None:
    assert emitted(window_diff, ["a", "b"], ["a", "b"]) == ""


@pytest.mark.behaviour("shrinking-leaves-no-rows")
def test_removed_rows_are_blanked_one_by_one() -> None:
    assert emitted(window_diff, ["a", "b", "c"], ["a"]) == "\x1b[1B\r\x1b[2K\x1b[1B\r\x1b[2K"


@pytest.mark.parametrize("emit", [window_diff, append_three, boundary_rewrite])
@pytest.mark.parametrize("above", [0, 2, 4])
def test_rows_above_the_window_scroll_out_first(emit: Emitter, above: int) -> None:
    terminal = VirtualTerminal(20, 5)
    shell = [f"shell {number}" for number in range(above)]
    terminal.write("".join(f"{row}\r\n" for row in shell))

    terminal.write(emitted(emit, [""], numbered(8)))

    assert [row for row in terminal.tape if row] == [*shell, *numbered(8)]


@pytest.mark.parametrize("emit", [window_diff, append_three, boundary_rewrite])
def test_updates_neither_erase_the_screen_nor_move_the_cursor_home(emit: Emitter) -> None:
    written = emitted(emit, numbered(5), numbered(9, first=3), row=4)

    assert not any(sequence in written for sequence in ("\x1b[2J", "\x1b[3J", "\x1b[H"))


def test_a_full_paint_erases_screen_and_history() -> None:
    terminal = VirtualTerminal(20, 5)
    terminal.write("old\r\n" * 20)

    terminal.write(emitted(full_paint, ["whatever"], numbered(8)))

    assert terminal.tape == numbered(8)


def test_a_rewrite_does_not_depend_on_the_old_rows() -> None:
    terminal = VirtualTerminal(20, 5)
    terminal.write("garbage 1\r\ngarbage 2\r\ngarbage 3\x1b[3A\r")

    terminal.write(emitted(boundary_rewrite, ["a", "b"], ["a", "b"]))

    assert terminal.screen == ["a", "b", "", "", ""]


def test_an_editor_below_a_growing_text_is_moved_and_not_written_again() -> None:
    terminal = VirtualTerminal(20, 5)
    editor = ["=" * 20, "> text", "=" * 20]
    terminal.write(emitted(window_diff, [""], ["a", "b", *editor]))

    written = emitted(
        partial(scroll_append, leaving=2), ["a", "b", *editor], ["a", "b", "c", "d", *editor], row=4
    )
    terminal.write(written)

    assert (terminal.tape, "text" in written) == (["a", "b", "c", "d", *editor], False)


def test_an_update_that_scrolls_past_all_painted_rows_writes_every_row() -> None:
    terminal = VirtualTerminal(20, 5)
    terminal.write(emitted(window_diff, [""], ["a", "editor"]))

    rows = ["a", *numbered(20), "editor"]
    terminal.write(emitted(partial(scroll_append, leaving=17), ["a", "editor"], rows, row=1))

    assert terminal.tape == rows


def test_a_row_with_a_picture_is_written_again_when_it_moves() -> None:
    picture = place(1, CellExtent(1, 1))

    written = emitted(window_diff, ["a", picture], ["a", "b", picture], row=1)

    assert written.count(picture) == 1


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
def test_no_row_is_lost_in_a_pane_whose_height_shrank_before_the_update() -> None:
    pane = TmuxModel(20, 6)
    pane.write(emitted(window_diff, [""], [*numbered(3), "editor", "border", "footer"]))
    pane.write("\x1b[2A")  # into the editor
    pane.resize(20, 4)

    rows = [*numbered(8), "editor", "border", "footer"]
    append = partial(scroll_append, leaving=5, in_pane=True)
    pane.write(emitted(append, [*numbered(3), "editor", "border", "footer"], rows, row=3))

    assert [row for row in pane.tape.rows if row] == rows
