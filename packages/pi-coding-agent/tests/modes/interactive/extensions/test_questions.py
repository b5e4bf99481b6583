from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.extensions.ui import overlay_placement
from pi.tui.overlays import Margin, OverlayOptions
from tests.modes.interactive.extensions.layouts import Line, new_frame, new_ui
from tests.modes.interactive.fake_screen import FakeScreen


class Asking:
    """Questions on a screen in memory."""

    def __init__(self, tmp_path: Path) -> None:
        self.screen = FakeScreen(tmp_path)
        self.frame = new_frame(tmp_path)
        self.questions = new_ui(self.screen, self.frame)

    async def answered(self, question: Coroutine[Any, Any, Any], *keys: str) -> Any:
        """The answer of a dialog when these keys are pressed."""
        dialog = asyncio.ensure_future(question)
        await self.screen.wait_until_shown()
        await self.screen.press(*keys)
        return await dialog


async def test_every_dialog_returns_its_answer(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    ask = on.questions

    assert await on.answered(ask.select("S", ["a", "b"]), "down", "enter") == "b"
    assert await on.answered(ask.confirm("C", "m"), "enter") is True
    assert await on.answered(ask.input("I"), "x", "enter") == "x"
    assert await on.answered(ask.editor("E", "once"), "enter") == "once"


async def test_a_dialog_waits_until_the_open_dialog_is_closed(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    first = asyncio.ensure_future(on.questions.confirm("First", ""))
    await on.screen.wait_until_shown()
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


async def test_a_dialog_cancelled_while_waiting_is_never_shown(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    first = asyncio.ensure_future(on.questions.confirm("First", ""))
    await on.screen.wait_until_shown()
    second = asyncio.ensure_future(on.questions.confirm("Second", ""))
    await asyncio.sleep(0)
    second.cancel()
    await on.screen.press("enter")

    assert await first is True
    await on.screen.wait_until_closed()


async def test_a_custom_component_gets_a_callback_that_closes_it(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    arguments: list[Any] = []

    def make(tui: Any, theme: Any, keys: Any, done: Any) -> Line:
        arguments.extend((tui, theme, keys))
        asyncio.get_running_loop().call_soon(done, 42)
        return Line("x")

    answers = [
        await on.questions.custom(make),
        await on.questions.custom(make, overlay=True, overlay_options={"width": 9}),
    ]

    assert (answers, arguments) == (
        [42, 42],
        [on.frame.tui, on.questions.colours, on.frame.keymap] * 2,
    )


async def test_a_failing_component_raises_in_the_caller(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    question = on.questions.custom(lambda: Line("x"))

    with pytest.raises(ValueError, match="no such key"):
        await on.answered(question, "escape")


async def test_a_component_without_an_input_handler_can_be_closed(tmp_path: Path) -> None:
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


async def test_several_options_are_checked_with_space(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    names = ["tests", "docs", "types"]

    dialog = asyncio.ensure_future(
        on.questions.select("Run?", names, multi=True, initial=["docs", "types"])
    )
    await on.screen.wait_until_shown()
    assert "[x] docs" in on.screen.text()
    assert "Space switch" in on.screen.text()
    await on.screen.press("space", "down", "space", "enter")
    assert await dialog == ["tests", "types"]

    nothing = on.questions.select("Run?", names, multi=True, initial=["docs"])
    assert await on.answered(nothing, "down", "space", "enter") == []
    assert await on.answered(on.questions.select("Run?", names, multi=True), "escape") is None


async def test_the_initial_option_is_selected_at_first(tmp_path: Path) -> None:
    on = Asking(tmp_path)

    assert await on.answered(on.questions.select("S", ["a", "b"], initial="b"), "enter") == "b"


async def test_a_timeout_is_distinct_from_a_cancel(tmp_path: Path) -> None:
    on = Asking(tmp_path)
    ask = on.questions
    clock: Any = on.screen.host.clock

    questions: tuple[Callable[[], Any], ...] = (
        lambda: ask.select("S", ["a"], timeout=5, on_timeout="late"),
        lambda: ask.select("S", ["a"], multi=True, timeout=5, on_timeout="late"),
        lambda: ask.confirm("C", "m", timeout=5, on_timeout="late"),
        lambda: ask.input("I", timeout=5, on_timeout="late"),
        lambda: ask.editor("E", timeout=5, on_timeout="late"),
    )
    for question in questions:
        cancelled = await on.answered(question(), "escape")
        assert cancelled in (None, False)
        waiting = asyncio.ensure_future(question())
        await on.screen.wait_until_shown()
        await clock.advance(6.0)
        assert await waiting == "late"
        await on.screen.wait_until_closed()


async def test_enter_inserts_a_line_in_an_editor_for_hooks(tmp_path: Path) -> None:
    on = Asking(tmp_path)

    dialog = asyncio.ensure_future(on.questions.editor("E", "one", style="hook"))
    await on.screen.wait_until_shown()
    assert "Alt+Enter accept" in on.screen.text()
    assert "Enter new line" in on.screen.text()
    await on.screen.press("enter", "t", "w", "o", "alt+enter")
    assert await dialog == "one\ntwo"

    dialog = asyncio.ensure_future(on.questions.editor("E", "one", style="prompt"))
    await on.screen.wait_until_shown()
    assert "Enter accept" in on.screen.text()
    await on.screen.press("enter")
    assert await dialog == "one"
