from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre
from tests.screens.long_answer import NUMBER, long_answer


def reached(theatre: Theatre, number: int) -> bool:
    """Whether the answer on the screen has come so far."""
    return any(int(found) >= number for found in NUMBER.findall(theatre.screen))


@pytest.mark.slow
async def test_a_long_answer_is_in_the_history_exactly_once_and_in_order(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says(long_answer(3000)), columns=60, rows=20)
    async with theatre.playing():
        theatre.send("go")
        await theatre.until(lambda: reached(theatre, 500))
        theatre.terminal.resize(50, 20)
        await theatre.sees("#2999")
        await theatre.rests()
        assert NUMBER.findall(theatre.tape) == [f"{number:04}" for number in range(3000)]


@pytest.mark.slow
@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
async def test_in_a_multiplexer_a_resize_loses_nothing_and_clears_nothing(tmp_path: Path) -> None:
    theatre = Theatre(
        tmp_path, says(long_answer(3000)), columns=60, rows=20, environ={"TMUX": "/tmp/tmux,1,0"}
    )
    async with theatre.playing():
        theatre.send("go")
        await theatre.until(lambda: reached(theatre, 500))
        theatre.terminal.resize(50, 20)
        await theatre.sees("#2999")
        await theatre.rests()
        # Rows that a resize moves into history are known for tmux, see test_tmux; others differ.
        seen = dict.fromkeys(NUMBER.findall(theatre.tape))
        assert list(seen) == [f"{number:04}" for number in range(3000)]
        assert "\x1b[3J" not in "".join(theatre.terminal.output)


@pytest.mark.slow
@pytest.mark.behaviour("scrollback-is-never-erased")
async def test_a_reader_who_scrolled_up_stays_where_they_are(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says(long_answer(600)), columns=60, rows=20)
    async with theatre.playing():
        theatre.send("go")
        await theatre.until(lambda: reached(theatre, 100))
        theatre.terminal.scroll_up(40)
        view = theatre.terminal.view
        await theatre.sees("#0599")
        await theatre.rests()
        assert theatre.terminal.view == view
        assert "\x1b[3J" not in "".join(theatre.terminal.output)


@pytest.mark.behaviour("late-preview-is-dropped")
async def test_a_big_diff_does_not_write_the_history_again(tmp_path: Path) -> None:
    old = "".join(f"line {number}\n" for number in range(400))
    edit = {"oldText": old, "newText": old.replace("line", "LINE")}
    theatre = Theatre(
        tmp_path, says("before"), calls("edit", path="big.txt", edits=[edit]), says("after")
    )
    theatre.stage.write("project/big.txt", old)
    async with theatre.playing():
        theatre.send("one")
        await theatre.sees("before")
        theatre.send("two")
        await theatre.sees("after")
        await theatre.rests()
        assert "+400 -400" in theatre.tape
        assert theatre.tape.count("before") == 1
        assert "\x1b[3J" not in "".join(theatre.terminal.output)


async def test_what_goes_wrong_meanwhile_is_reported_below_the_answer(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says(long_answer(300)), columns=60, rows=20)
    async with theatre.playing():
        theatre.send("go")
        await theatre.until(lambda: reached(theatre, 50))
        assert theatre.commands is not None
        theatre.commands.ui.notify("It could not be saved.", "error")
        await theatre.sees("#0299")
        await theatre.rests()
        assert NUMBER.findall(theatre.tape) == [f"{number:04}" for number in range(300)]
        assert theatre.tape.index("#0299") < theatre.tape.index("It could not be saved.")
