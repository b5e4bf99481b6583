from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api import ExtensionAPI
from tests.coding.extension_host.stage import FakeUI, playing


async def test_a_command_comes_before_everything_else_that_a_text_may_mean(
    tmp_path: Path,
) -> None:
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("input", lambda event, ctx: story.append(f"input {event.text}"))

        @pi.command("do")
        def do(args: str, ctx: Any) -> None:
            story.append(f"did {args}")

    async with playing(tmp_path, extension, steps=(says("ok"),)) as play:
        await play.session.prompt("/do it")
        await play.session.prompt("/undo it")

        for queue in (play.session.steer, play.session.follow_up):
            with pytest.raises(PiError, match='Extension command "/do" cannot be queued'):
                await queue("/do more")
    assert story == ["did it", "input /undo it"]


async def test_a_command_that_fails_is_told_and_nothing_else_happens(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("boom")
        async def boom(args: str, ctx: Any) -> None:
            raise ValueError("cmd boom")

        @pi.shortcut("ctrl+b")
        def bang(ctx: Any) -> None:
            raise SystemExit(3)

        def shout(text: str, about: Any) -> str:
            raise ValueError("hoarse")

        pi.register_markdown_transformer(shout)

    async with playing(tmp_path, extension) as play:
        await play.session.prompt("/boom")
        assert await play.session.extensions.press("ctrl+b")
        assert play.session.extensions.markdown("text") == "text"
        await asyncio.sleep(0)

        failed = [(each.extension_path, each.error) for each in play.told("ExtensionFailed")]
    assert failed == [
        ("command:boom", "cmd boom"),
        ("shortcut:ctrl+b", "3"),
        ("<inline:1:extension>", "hoarse"),
    ]


async def test_a_mode_lends_its_screen(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("say")
        def say(args: str, ctx: Any) -> None:
            ctx.ui.notify(f"{ctx.mode} {ctx.has_ui}")

    ui = FakeUI()
    async with playing(tmp_path, extension) as play:
        await play.session.prompt("/say")
        play.session.extensions.attach(ui, "tui")
        await play.session.prompt("/say")

    assert ui.seen == [("notify", "tui True")]


async def test_tokens_are_heard_only_while_somebody_wants_them(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    seen: list[Any] = []

    steps = (says("one"), says("two"), says("three"))
    async with playing(tmp_path, apis.append, steps=steps) as play:
        await play.session.prompt("a")
        watching = apis[0].on("message_update", lambda event, ctx: seen.append(event))
        await play.session.prompt("b")
        count = len(seen)
        watching.remove()
        await play.session.prompt("c")

        assert (count > 0, len(seen)) == (True, count)
        assert play.session.extensions._tokens is None
