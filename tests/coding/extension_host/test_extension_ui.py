from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.no_ui import NoRows
from tests.coding.extension_host.stage import FakeUI, playing


async def test_dialogs_are_told_and_what_is_shown_is_taken_away(tmp_path: Path) -> None:
    heard: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("ui_prompt_start", lambda event, ctx: heard.append(f"start {event.kind}"))
        pi.on("ui_prompt_end", lambda event, ctx: heard.append(f"end {event.title}"))

        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            ctx.ui.set_status("a", "kept")
            ctx.ui.set_status("b", "shown")
            ctx.ui.set_status("b", None)
            heard.append(str(await ctx.ui.confirm("Sure?", "Really?")))

    ui = FakeUI()
    async with playing(tmp_path, extension) as play:
        play.session.extensions.attach(ui, "tui")
        await play.session.prompt("/ask")

    assert heard == ["start confirm", "end Sure?", "True"]
    assert ui.seen == [
        ("status", "a", "kept"),
        ("status", "b", "shown"),
        ("status", "b", "None"),
        ("confirm", "Sure?", "Really?"),
        ("status", "a", "None"),
    ]


class Screen(FakeUI):
    """Remembers everything that stays."""

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        self.seen.append(("widget", key, str(lines)))

    def set_footer(self, make: Any) -> None:
        self.seen.append(("footer", str(make is not None)))

    def set_header(self, make: Any) -> None:
        self.seen.append(("header", str(make is not None)))

    def set_editor_component(self, make: Any) -> None:
        self.seen.append(("editor", str(make is not None)))

    def add_autocomplete_provider(self, provider: Any) -> Any:
        return lambda: self.seen.append(("no completion",))

    def on_terminal_input(self, listener: Any) -> Any:
        return lambda: self.seen.append(("no keys",))

    def set_rows(self, key: str, rows: Any, **where: Any) -> Any:
        screen = self

        class Shown(NoRows):
            def remove(self) -> None:
                screen.seen.append(("no rows",))

        return Shown()


@pytest.mark.trap(263)
async def test_nothing_of_an_extension_stays_on_the_screen_after_it(tmp_path: Path) -> None:
    ui = Screen()

    class Row:
        def render(self, width: int) -> Sequence[str]:
            return ["x"]

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("show")
        async def show(args: str, ctx: Any) -> None:
            ctx.ui.set_widget("w", ["a"])
            ctx.ui.set_footer(Row)
            ctx.ui.set_header(Row)
            ctx.ui.set_editor_component(Row)
            ctx.ui.set_rows("r", Row())
            ctx.ui.add_autocomplete_provider(None)
            ctx.ui.on_terminal_input(print)
            answers = [
                await ctx.ui.select("a", ["b"]),
                await ctx.ui.input("a"),
                await ctx.ui.editor("a"),
                await ctx.ui.custom(Row),
            ]
            assert answers == [None] * 4
            assert ctx.ui.get_editor_text() == ""

    async with playing(tmp_path, extension) as play:
        play.session.extensions.attach(ui, "tui")
        await play.session.prompt("/show")
        assert play.failures == []
        ui.seen.clear()
        await play.session.new_session()

    assert sorted(ui.seen) == [
        ("editor", "False"),
        ("footer", "False"),
        ("header", "False"),
        ("no completion",),
        ("no keys",),
        ("no rows",),
        ("widget", "w", "None"),
    ]


@pytest.mark.trap(270)
async def test_the_dialog_of_a_handler_that_is_cut_closes(tmp_path: Path) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    class Waiting(FakeUI):
        async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
            opened.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.set()
            return True

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def ask(event: Any, ctx: Any) -> None:
            await ctx.ui.confirm("Sure?", "Really?")

    steps = (calls("bash", command="true"), says("never"))
    async with playing(tmp_path, extension, steps=steps) as play:
        play.session.extensions.attach(Waiting(), "tui")
        running = asyncio.ensure_future(play.session.prompt("go"))
        await opened.wait()
        await play.stage.clock.advance(100)  # a dialog has no deadline
        assert not closed.is_set()
        await play.session.abort()
        await running

    assert closed.is_set()
