from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.long_answer import NUMBER, long_answer


def reached(app_fixture: AppFixture, number: int) -> bool:
    """Return whether the screen shows this line of the answer or a later one."""
    return any(int(found) >= number for found in NUMBER.findall(app_fixture.screen))


@pytest.mark.full
@pytest.mark.slow
async def test_a_long_answer_is_in_the_history_exactly_once_and_in_order(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says(long_answer(3000)), columns=60, rows=20)
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.until(lambda: reached(app_fixture, 500))
        app_fixture.terminal.resize(50, 20)
        await app_fixture.sees("#2999")
        await app_fixture.rests()
        assert NUMBER.findall(app_fixture.tape) == [f"{number:04}" for number in range(3000)]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
async def test_a_resize_in_a_multiplexer_neither_loses_rows_nor_erases_the_scrollback(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(
        tmp_path, says(long_answer(3000)), columns=60, rows=20, environ={"TMUX": "/tmp/tmux,1,0"}
    )
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.until(lambda: reached(app_fixture, 500))
        app_fixture.terminal.resize(50, 20)
        await app_fixture.sees("#2999")
        await app_fixture.rests()
        # Which rows a resize moves into history is known only for tmux (see test_tmux).
        seen = dict.fromkeys(NUMBER.findall(app_fixture.tape))
        assert list(seen) == [f"{number:04}" for number in range(3000)]
        assert "\x1b[3J" not in "".join(app_fixture.terminal.output)


@pytest.mark.slow
@pytest.mark.behaviour("scrollback-is-never-erased")
async def test_streaming_does_not_move_the_view_of_a_user_who_scrolled_up(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says(long_answer(600)), columns=60, rows=20)
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.until(lambda: reached(app_fixture, 100))
        app_fixture.terminal.scroll_up(40)
        view = app_fixture.terminal.view
        await app_fixture.sees("#0599")
        await app_fixture.rests()
        assert app_fixture.terminal.view == view
        assert "\x1b[3J" not in "".join(app_fixture.terminal.output)


@pytest.mark.behaviour("late-preview-is-dropped")
async def test_a_big_diff_does_not_write_the_history_again(tmp_path: Path) -> None:
    old = "".join(f"line {number}\n" for number in range(400))
    edit = {"oldText": old, "newText": old.replace("line", "LINE")}
    app_fixture = AppFixture(
        tmp_path, says("before"), calls("edit", path="big.txt", edits=[edit]), says("after")
    )
    app_fixture.fixture.write("project/big.txt", old)
    async with app_fixture.running():
        app_fixture.send("one")
        await app_fixture.sees("before")
        app_fixture.send("two")
        await app_fixture.sees("after")
        await app_fixture.rests()
        assert "+400 -400" in app_fixture.tape
        assert app_fixture.tape.count("before") == 1
        assert "\x1b[3J" not in "".join(app_fixture.terminal.output)


async def test_an_error_during_streaming_is_reported_below_the_answer(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says(long_answer(300)), columns=60, rows=20)
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.until(lambda: reached(app_fixture, 50))
        assert app_fixture.commands is not None
        app_fixture.commands.ui.notify("It could not be saved.", "error")
        await app_fixture.sees("#0299")
        await app_fixture.rests()
        assert NUMBER.findall(app_fixture.tape) == [f"{number:04}" for number in range(300)]
        assert app_fixture.tape.index("#0299") < app_fixture.tape.index("It could not be saved.")
