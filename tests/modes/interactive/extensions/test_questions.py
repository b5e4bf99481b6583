from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.extensions.dialogs import overlay_placement
from pi.tui.overlays import Margin, OverlayOptions
from tests.modes.interactive.extensions.framed import Line, new_frame, new_ui
from tests.modes.interactive.fake_screen import FakeScreen


class Asking:
    """Questions on a screen in memory."""

    def __init__(self, tmp_path: Path) -> None:
        self.screen = FakeScreen(tmp_path)
        self.frame = new_frame(tmp_path)
        self.questions = new_ui(self.screen, self.frame)

    async def answered(self, question: Coroutine[Any, Any, Any], *keys: str) -> Any:
        """What comes of a question when these keys are pressed."""
        asked = asyncio.ensure_future(question)
        await self.screen.shown()
        await self.screen.press(*keys)
        return await asked


async def test_every_question_has_its_answer(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    ask = on.questions

    assert await on.answered(ask.select("S", ["a", "b"]), "down", "enter") == "b"
    assert await on.answered(ask.confirm("C", "m"), "enter") is True
    assert await on.answered(ask.input("I"), "x", "enter") == "x"
    assert await on.answered(ask.editor("E", "once"), "enter") == "once"


async def test_a_question_waits_for_its_turn(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    first = asyncio.ensure_future(on.questions.confirm("First", ""))
    await on.screen.shown()
    second = asyncio.ensure_future(on.questions.confirm("Second", ""))
    third = asyncio.ensure_future(on.questions.confirm("Third", "", timeout=5.0))
    await on.screen.until(lambda text: "First" in text)

    clock: Any = on.screen.host.clock
    await clock.advance(10.0)
    assert await third is False  # its time was over before its turn came
    await on.screen.press("enter")
    await on.screen.until(lambda text: "Second" in text)
    await on.screen.press("enter")

    assert [await first, await second] == [True, True]


async def test_who_is_cancelled_while_waiting_is_never_asked(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    first = asyncio.ensure_future(on.questions.confirm("First", ""))
    await on.screen.shown()
    second = asyncio.ensure_future(on.questions.confirm("Second", ""))
    await asyncio.sleep(0)
    second.cancel()
    await on.screen.press("enter")

    assert await first is True
    await on.screen.closed()


async def test_a_component_is_made_with_what_ends_it(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    given: list[Any] = []

    def make(tui: Any, theme: Any, keys: Any, done: Any) -> Line:
        given.extend((tui, theme, keys))
        asyncio.get_running_loop().call_soon(done, 42)
        return Line("x")

    answers = [
        await on.questions.custom(make),
        await on.questions.custom(make, overlay=True, overlay_options={"width": 9}),
    ]

    assert (answers, given) == ([42, 42], [on.frame.tui, on.questions.colours, on.frame.keymap] * 2)


async def test_a_failing_component_raises_in_the_caller(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    question = on.questions.custom(lambda: Line("x"))

    with pytest.raises(ValueError, match="no such key"):
        await on.answered(question, "escape")


async def test_a_component_that_takes_no_keys_can_be_closed(tmp_path: Path) -> None:
    class Picture:
        def render(self, width: int) -> list[str]:
            return ["a picture"]

    on = Asking(tmp_path)
    question = on.questions.custom(Picture)

    assert await on.answered(question, "x", "escape") is None


def test_an_overlay_is_placed_by_names() -> None:
    placed = overlay_placement({"width": "50%", "margin": {"top": 1}})

    assert placed == OverlayOptions(width="50%", margin=Margin(top=1))
    with pytest.raises(PiError, match="The place of an overlay is invalid"):
        overlay_placement({"colour": "red"})
