"""The editor while suggestions are visible."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pi.base.tasks import TaskScope
from pi.tui.input.decoder import Paste
from pi.tui.widgets.editor.editor import Editor
from tests.tui.widgets.editor.pressing import (
    BACKSPACE,
    CTRL_U,
    CTRL_W,
    DOWN,
    ENTER,
    LEFT,
    SHIFT_ENTER,
    UNDO,
    pressed,
    shown,
)
from tests.tui.widgets.editor.test_completion import no_wait, settled
from tests.tui.widgets.editor.test_suggesting import provider


@pytest.fixture
async def completing() -> AsyncIterator[Editor]:
    async with TaskScope() as tasks:
        editor = Editor(tasks=tasks, sleep=no_wait)
        editor.focused = True
        editor.set_autocomplete_provider(provider())
        yield editor


@pytest.mark.behaviour("cursor-at-the-insertion-point", "completion-is-debounced")
async def test_suggestions_open_below_and_the_cursor_stays_in_the_text(
    completing: Editor,
) -> None:
    pressed(completing, *"/n")
    await settled()

    assert shown(completing) == ["─" * 20, "/n| ", "─" * 20, "→ new", "  name"]


@pytest.mark.behaviour("completion-is-debounced")
async def test_enter_before_the_suggestions_arrive_submits_the_completed_command(
    completing: Editor,
) -> None:
    sent = list[str]()
    completing.on_submit = sent.append
    pressed(completing, *"/mod", ENTER)
    assert sent == []

    await settled()
    assert (sent, completing.get_text()) == (["/model"], "")


async def test_typing_after_an_early_enter_submits_the_command_as_typed(completing: Editor) -> None:
    sent = list[str]()
    completing.on_submit = sent.append
    pressed(completing, *"/mod", ENTER, *"next", ENTER)
    await settled()
    assert sent == ["/mod", "next"]


async def test_an_unknown_command_is_submitted_as_typed(completing: Editor) -> None:
    sent = list[str]()
    completing.on_submit = sent.append
    pressed(completing, *"/zzz", ENTER)
    await settled()
    assert sent == ["/zzz"]


async def test_accepting_a_command_with_enter_submits_it(completing: Editor) -> None:
    sent = list[str]()
    completing.on_submit = sent.append
    pressed(completing, *"/mo")
    await settled()
    pressed(completing, ENTER)

    assert (sent, completing.get_text()) == (["/model"], "")


@pytest.mark.behaviour("completion-is-debounced")
@pytest.mark.parametrize("key", [CTRL_U, CTRL_W, UNDO, LEFT, SHIFT_ENTER, Paste(text="x").data])
async def test_destructive_edits_and_moves_close_the_suggestions(
    completing: Editor, key: str
) -> None:
    pressed(completing, *"/n")
    await settled()
    assert len(completing.render(20)) == 5
    pressed(completing, key)
    await settled()

    assert not [row for row in shown(completing) if "name" in row]


async def test_backspace_requests_suggestions_again(completing: Editor) -> None:
    pressed(completing, *"/nx")
    await settled()
    assert len(completing.render(20)) == 3
    pressed(completing, BACKSPACE, BACKSPACE)
    await settled()

    assert shown(completing)[3:] == ["→ model  choose", "  new", "  name"]


async def test_a_longer_list_shows_the_position(completing: Editor) -> None:
    completing.set_autocomplete_max_visible(2)
    pressed(completing, "/")
    await settled()
    pressed(completing, DOWN, DOWN)

    assert shown(completing)[3:] == ["  new", "→ name", "  (3/3)"]


async def test_setting_a_text_closes_the_suggestions(completing: Editor) -> None:
    pressed(completing, *"/n")
    completing.set_text("other")
    await settled()

    assert shown(completing) == ["─" * 20, "other| ", "─" * 20]
