from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import StaleSession
from pi.coding.port.drawing import NoRows
from tests.coding.extension_host.extension_session import FakeUI, extension_session


async def test_dialogs_emit_events_and_statuses_are_removed_with_the_session(
    tmp_path: Path,
) -> None:
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("ui_prompt_start", lambda event, ctx: received.append(f"start {event.kind}"))
        pi.on("ui_prompt_end", lambda event, ctx: received.append(f"end {event.title}"))

        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            ctx.ui.set_status("a", "kept")
            ctx.ui.set_status("b", "shown")
            ctx.ui.set_status("b", None)
            received.append(str(await ctx.ui.confirm("Sure?", "Really?")))

    ui = FakeUI()
    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(ui, "tui")
        await hosted.session.prompt("/ask")

    assert received == ["start confirm", "end Sure?", "True"]
    assert ui.seen == [
        ("status", "a", "kept"),
        ("status", "b", "shown"),
        ("status", "b", "None"),
        ("confirm", "Sure?", "Really?"),
        ("status", "a", "None"),
    ]


class Screen(FakeUI):
    """Records everything that is shown."""

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        self.seen.append(("widget", key, str(lines)))

    def set_title(self, title: str) -> None:
        self.seen.append(("title", title))

    def set_working_message(self, message: str | None = None) -> None:
        self.seen.append(("working message", str(message)))

    def set_working_visible(self, *, visible: bool) -> None:
        self.seen.append(("working visible", str(visible)))

    def set_working_indicator(self, frames: Any = None, interval: Any = None) -> None:
        self.seen.append(("working frames", str(frames)))

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        self.seen.append(("thinking", str(label)))

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


@pytest.mark.behaviour("stale-handles-raise")
async def test_everything_shown_by_an_extension_is_removed_with_its_session(tmp_path: Path) -> None:
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
            ctx.ui.add_footer_line("r", Row())
            ctx.ui.set_title("mine")
            ctx.ui.set_working_message("Hm")
            ctx.ui.set_working_visible(visible=False)
            ctx.ui.set_working_indicator(["."])
            ctx.ui.set_hidden_thinking_label("…")
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

    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(ui, "tui")
        await hosted.session.prompt("/show")
        assert hosted.failures == []
        ui.seen.clear()
        await hosted.session.new_session()

    assert sorted(ui.seen) == [
        ("editor", "False"),
        ("footer", "False"),
        ("header", "False"),
        ("no completion",),
        ("no keys",),
        ("no rows",),
        ("thinking", "None"),
        ("title", ""),
        ("widget", "w", "None"),
        ("working frames", "None"),
        ("working message", "None"),
        ("working visible", "True"),
    ]


async def test_facts_are_shared_and_removed_with_their_extension(tmp_path: Path) -> None:
    seen: list[Any] = []

    def guard(pi: ExtensionAPI) -> None:
        @pi.command("facts")
        async def facts(args: str, ctx: Any) -> None:
            ctx.ui.set_fact("sandbox", "on")
            ctx.ui.set_fact("sandbox", "strict")
            ctx.ui.set_fact("approval", "ask")
            ctx.ui.set_fact("approval", None)
            seen.append(dict(ctx.ui.facts))

    def reader(pi: ExtensionAPI) -> None:
        pi.on("session_start", lambda event, ctx: seen.append(dict(ctx.ui.facts)))
        pi.command("read")(lambda args, ctx: seen.append(dict(ctx.ui.facts)))

    async with extension_session(tmp_path, guard, reader) as hosted:
        seen.clear()
        await hosted.session.prompt("/facts")
        await hosted.session.prompt("/read")
        await hosted.session.new_session()
        assert hosted.failures == []

    assert seen == [{"sandbox": "strict"}, {"sandbox": "strict"}, {}]


async def test_a_failing_widget_is_reported_once(tmp_path: Path) -> None:
    drawn: list[Any] = []

    class Showing(FakeUI):
        def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
            if lines is not None:
                widget = lines("tui", "theme")
                drawn.extend([widget.render(9), widget.render(9)])

    class Broken:
        def render(self, width: int) -> Sequence[str]:
            raise ValueError("no rows")

    def extension(pi: ExtensionAPI) -> None:
        pi.command("show")(lambda args, ctx: ctx.ui.set_widget("w", Broken))

    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(Showing(), "tui")
        await hosted.session.prompt("/show")
        await asyncio.sleep(0)

        assert drawn == [(), ()]
        assert hosted.failures == ["widget w: no rows"]


@pytest.mark.behaviour("stale-handles-raise")
async def test_the_ui_of_an_ended_session_cancels_dialogs_and_is_stale(tmp_path: Path) -> None:
    answers: list[Any] = []
    opened = asyncio.Event()
    contexts: list[Any] = []

    class Waiting(FakeUI):
        async def input(self, title: str, placeholder: str = "", **options: Any) -> str | None:
            opened.set()
            await asyncio.Event().wait()
            return "never"

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            contexts.append(ctx)
            answers.append(await ctx.ui.input("Name?"))

    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(Waiting(), "tui")
        asking = asyncio.ensure_future(hosted.session.prompt("/ask"))
        await opened.wait()
        await hosted.session.new_session()
        await asking

        assert answers == [None]
        with pytest.raises(StaleSession):
            contexts[0].ui.set_status("late", "x")
        with pytest.raises(StaleSession):
            contexts[0].ui.set_fact("late", "x")


async def test_the_ui_has_only_documented_attributes(tmp_path: Path) -> None:
    failed: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("look")
        async def look(args: str, ctx: Any) -> None:
            with pytest.raises(AttributeError, match="no attribute 'seen'"):
                failed.extend(ctx.ui.seen)

    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(FakeUI(), "tui")
        await hosted.session.prompt("/look")
        assert (hosted.failures, failed) == ([], [])


async def test_rows_below_the_footer_are_redrawn_when_a_fact_changes(tmp_path: Path) -> None:
    painted: list[str] = []

    class Footer(FakeUI):
        def set_rows(self, key: str, rows: Any, **how: Any) -> Any:
            class Shown(NoRows):
                def invalidate(self) -> None:
                    painted.append(f"{key}: {rows.render(80)}")

            return Shown()

    class Status:
        def render(self, width: int) -> list[str]:
            return [apis[0].context.ui.facts.get("sandbox", "none")]

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, apis.append) as hosted:
        hosted.session.extensions.attach(Footer(), "tui")
        apis[0].context.ui.set_rows("status", Status())
        apis[1].context.ui.set_fact("sandbox", "strict")
        apis[1].context.ui.set_fact("sandbox", None)

    assert painted == ["status: ['strict']", "status: ['none']"]
