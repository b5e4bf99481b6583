from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.ui import Option
from tests.coding.extension_host.extension_session import FakeUI, extension_session


@pytest.mark.behaviour("timed-out-dialogs-close")
async def test_the_dialog_of_a_cancelled_handler_closes(tmp_path: Path) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    class Waiting(FakeUI):
        async def confirm(self, title: str, message: str, **more: Any) -> bool:
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
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        hosted.session.extensions.attach(Waiting(), "tui")
        running = asyncio.ensure_future(hosted.session.prompt("go"))
        await opened.wait()
        await hosted.fixture.clock.advance(100)  # a dialog has no deadline
        assert not closed.is_set()
        await hosted.session.abort()
        await running

    assert closed.is_set()


class Patient(FakeUI):
    """A user who never answers; records which dialogs were opened and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def _wait(self, what: str) -> Any:
        self.seen.append(("open", what))
        self.opened[what].set()
        try:
            await asyncio.Event().wait()
        finally:
            self.seen.append(("closed", what))

    async def confirm(self, title: str, message: str, **more: Any) -> Any:
        return await self._wait(title)

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        return await self._wait(title)

    async def editor(self, title: str, prefill: str = "", **more: Any) -> Any:
        return await self._wait(title)


async def test_another_extension_answers_a_dialog_by_its_id(tmp_path: Path) -> None:
    answers: list[Any] = []
    prompts: list[Any] = []
    refused: list[str] = []

    def asking(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            answers.append(await ctx.ui.select("One", ["a", Option(label="b", description="B")]))
            answers.append(await ctx.ui.select("Many", ["a", "b"], multi=True, initial=["a"]))
            answers.append(await ctx.ui.confirm("Sure?", "Really"))
            answers.append(await ctx.ui.editor("Text", "draft"))

    def guest(pi: ExtensionAPI) -> None:
        """Answers dialogs of the other extension, as a host of a shared session does."""
        answers_by_title = {"One": "b", "Many": ["b"], "Sure?": True, "Text": None}

        async def answer(prompt: Any, ctx: Any) -> None:
            await ui.opened[prompt.title].wait()
            try:
                ctx.ui.answer(prompt.id, 3)
            except ExtensionError as error:
                refused.append(error.explain())
            assert ctx.ui.answer(prompt.id, answers_by_title[prompt.title]) is True
            assert ctx.ui.answer(prompt.id, None) is False  # answered already

        @pi.on("ui_prompt_start")
        def start(event: Any, ctx: Any) -> None:
            prompts.append(event)
            pi.scope.spawn(answer(event, ctx), name="guest")

        @pi.on("ui_prompt_end")
        def end(event: Any, ctx: Any) -> None:
            assert event.id == prompts[-1].id

    ui = Patient()
    async with extension_session(tmp_path, asking, guest) as hosted:
        hosted.session.extensions.attach(ui, "tui")
        await hosted.session.prompt("/ask")
        assert hosted.failures == []

    assert answers == ["b", ["b"], True, None]
    assert [prompt.options for prompt in prompts[:2]] == [
        (Option(label="a"), Option(label="b", description="B")),
        (Option(label="a"), Option(label="b")),
    ]
    assert [prompt.multi for prompt in prompts] == [False, True, False, False]
    assert (prompts[1].initial, prompts[2].message, prompts[3].prefill) == (
        ("a",),
        "Really",
        "draft",
    )
    assert len({prompt.id for prompt in prompts}) == 4
    assert ui.seen == [
        (step, title) for title in ("One", "Many", "Sure?", "Text") for step in ("open", "closed")
    ]
    assert refused == [
        "A dialog of kind select cannot be answered with 3. Pass the label of an option.",
        "A dialog of kind select cannot be answered with 3. Pass a list of labels.",
        "A dialog of kind confirm cannot be answered with 3. Pass True or False.",
        "A dialog of kind editor cannot be answered with 3. Pass a text.",
    ]


async def test_a_dialog_that_a_handler_answers_is_never_shown(tmp_path: Path) -> None:
    answers: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("ui_prompt_start", lambda event, ctx: ctx.ui.answer(event.id, "a") and None)

        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            answers.append(await ctx.ui.select("One", ["a"]))
            assert ctx.ui.answer("unknown", "a") is False

    ui = Patient()
    async with extension_session(tmp_path, extension) as hosted:
        hosted.session.extensions.attach(ui, "tui")
        await hosted.session.prompt("/ask")
        assert hosted.failures == []
    assert (answers, ui.seen) == (["a"], [])


async def test_unknown_values_are_refused_with_a_suggestion(tmp_path: Path) -> None:
    texts: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("try")
        async def try_all(args: str, ctx: Any) -> None:
            api: Any = pi
            wrong: list[Any] = [
                lambda: ctx.ui.set_widget("w", ["x"], placement="belowEdit"),
                lambda: ctx.ui.set_widget("w", ["x"], placement="below_editors"),
                lambda: ctx.ui.notify("x", "warn"),
                lambda: ctx.ui.notify("x", "eror"),
                lambda: ctx.ui.set_rows("k", None, where="header"),
                lambda: api.add_view("mesage", "x", "m:f"),
            ]
            waited: list[Any] = [
                lambda: ctx.ui.editor("E", style="hok"),
                lambda: ctx.ui.select("S", ["apple"], initial="aple"),
                lambda: ctx.ui.select("S", ["a", "b"], initial=["a", "b"]),
                lambda: api.send_message(
                    {"custom_type": "x", "content": "y"}, deliver_as="nextTurn"
                ),
                lambda: api.send_user_message("y", deliver_as="followUp"),
            ]
            for call in wrong:
                with pytest.raises(ExtensionError) as refused:
                    call()
                texts.append(refused.value.explain())
            for call in waited:
                with pytest.raises(ExtensionError) as refused:
                    await call()
                texts.append(refused.value.explain())

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/try")
        assert hosted.failures == []

    assert texts == [
        "'belowEdit' is not a placement. Did you mean belowEditor?"
        " Valid values: above_editor, below_editor, aboveEditor, belowEditor.",
        "'below_editors' is not a placement. Did you mean below_editor?"
        " Valid values: above_editor, below_editor, aboveEditor, belowEditor.",
        "'warn' is not a kind of notice. Valid values: info, warning, error.",
        "'eror' is not a kind of notice. Did you mean error? Valid values: info, warning, error.",
        "'header' is not a place for rows. Valid values: footer.",
        "'mesage' is not a kind of view. Did you mean message?"
        " Valid values: tool, message, entry, status, code.",
        "'hok' is not a style of the editor. Did you mean hook? Valid values: prompt, hook.",
        "'aple' is not an option. Did you mean apple? Valid values: apple.",
        "A dialog for one option has one initial option. Pass multi=True.",
        "'nextTurn' is not a value of deliver_as. Did you mean next_turn?"
        " Valid values: steer, follow_up, next_turn.",
        "'followUp' is not a value of deliver_as. Did you mean follow_up?"
        " Valid values: steer, follow_up, next_turn.",
    ]
