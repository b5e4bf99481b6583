"""Small questions on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.modes.interactive.dialogs.questions import (
    Option,
    ask_text,
    choose,
    choose_several,
    confirm,
    edit_text,
)
from tests.modes.interactive.fake_screen import FakeScreen

ONE = Option(value=1, label="One")
NONE: list[Option[int]] = []


async def test_the_chosen_option_is_returned(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    options = [Option(value=1, label="One", description="the first"), Option(value=2, label="Two")]
    dialog = asyncio.create_task(choose(screen, "Which?", options, message="Think well."))
    await screen.press("down")

    assert screen.text() == (
        " Which?\n Think well.\n\n   One  the first\n → Two\n\n Enter choose · Escape cancel"
    )
    await screen.press("enter")
    assert await dialog == 2


@pytest.mark.behaviour("selectors")
async def test_ctrl_c_and_escape_close_a_question(tmp_path: Path) -> None:
    for key in ("ctrl+c", "escape"):
        screen = FakeScreen(tmp_path)
        dialog = asyncio.create_task(choose(screen, "Which?", [ONE]))
        await screen.press(key)
        assert await dialog is None
        assert not screen.is_open


@pytest.mark.behaviour("selectors")
async def test_an_empty_list_can_be_moved_in_and_closed(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(choose(screen, "Which?", NONE))
    await screen.press("up", "down", "pageDown", "enter")
    assert screen.is_open
    await screen.press("escape")
    assert await dialog is None


async def test_only_yes_confirms(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    for keys, expected in ((["enter"], True), (["down", "enter"], False), (["escape"], False)):
        dialog = asyncio.create_task(confirm(screen, "Sure?"))
        await screen.press(*keys)
        assert await dialog is expected


async def test_a_text_prompt_can_have_an_initial_value(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_text(screen, "Name?", value="ab"))
    await screen.type("c")
    await screen.press("enter")
    assert await dialog == "abc"


@pytest.mark.behaviour("masked-input-leaves-nothing")
async def test_a_masked_line_shows_dots_and_cannot_be_restored(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_text(screen, "Key?", masked=True))
    await screen.type("secret")
    assert "secret" not in screen.text()
    assert "••••••" in screen.text()
    await screen.press("ctrl+u", "ctrl+y", "ctrl+-")
    assert "•" not in screen.text()
    await screen.press("enter")
    assert await dialog == ""


async def test_a_text_is_edited_over_several_lines_and_in_an_external_editor(
    tmp_path: Path,
) -> None:
    screen = FakeScreen(tmp_path)
    screen.edited = "from elsewhere"
    dialog = asyncio.create_task(edit_text(screen, "Text?", "here"))
    await screen.press("ctrl+j")
    await screen.type("x")
    assert "here\nx" in screen.text()
    await screen.press("ctrl+g")
    await screen.press("enter")
    assert await dialog == "from elsewhere"


@pytest.mark.behaviour("timed-out-dialogs-close")
async def test_a_dialog_closes_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(choose(screen, "Which?", [ONE]))
    await screen.wait_until_shown()
    dialog.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dialog
    assert not screen.is_open


async def test_the_preview_of_the_selected_option_is_below_the_list(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    options = [
        Option(value=1, label="One", preview="first\n\tline \x1b[31mtwo"),
        Option(value=2, label="Two", preview="\n".join(f"row {n}" for n in range(99))),
        Option(value=3, label="Three"),
    ]
    dialog = asyncio.create_task(choose(screen, "Which?", options))
    await screen.wait_until_shown()
    assert "first\n     line two" in "\n".join(screen.lines(40))
    await screen.press("down")
    assert "row 0" in screen.text() and "more lines" in screen.text()
    assert "first" not in screen.text()
    await screen.press("down")
    assert "row" not in screen.text()
    await screen.press("enter")
    assert await dialog == 3


async def test_several_options_have_previews_too(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    options = [Option(value=1, label="One", preview="the first"), Option(value=2, label="Two")]
    dialog = asyncio.create_task(choose_several(screen, "Which?", options))
    await screen.press(" ")
    assert "[x] One" in screen.text() and "the first" in screen.text()
    await screen.press("enter")
    assert await dialog == [1]
