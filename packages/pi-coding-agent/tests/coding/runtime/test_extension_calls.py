from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.extensions import InputMode
from tests.coding.extension_host.extension_session import extension_session


def kit(story: list[str]) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("hello", completions=lambda prefix: [f"{prefix}da"])
        async def hello(args: str, ctx: Any) -> None:
            """say hello"""
            story.append(f"hello {args}")

        @pi.shortcut("ctrl+h", description="say it by key")
        def key(ctx: Any) -> None:
            story.append("key")

        @pi.shortcut("ctrl+x")
        def broken(ctx: Any) -> None:
            raise ValueError("no")

        async def typed(text: str, ctx: Any) -> None:
            story.append(f"typed {text}")

        pi.add_input_mode("$", InputMode(label="shout", run=typed))
        pi.register_flag("loud", description="shout")
        pi.register_markdown_transformer(lambda text, about: text.upper())

    return extension


async def test_commands_keys_and_prefixed_texts_are_dispatched_to_their_extension(
    tmp_path: Path,
) -> None:
    story: list[str] = []
    async with extension_session(tmp_path, kit(story)) as hosted:
        extensions = hosted.session.extensions
        await extensions.run("/hello Ada")
        pressed = [await extensions.press(key) for key in ("ctrl+h", "ctrl+q")]
        handled = [await extensions.handle_input(text) for text in ("$ hi", "hi")]

        assert (pressed, handled) == ([True, False], [True, False])
        assert story == ["hello Ada", "key", "typed hi"]


async def test_registrations_of_extensions_are_listed(tmp_path: Path) -> None:
    async with extension_session(tmp_path, kit([])) as hosted:
        extensions = hosted.session.extensions

        assert extensions.shortcuts() == {"ctrl+h": "say it by key", "ctrl+x": ""}
        assert [await extensions.completions(name, "A") for name in ("hello", "gone")] == [
            ["Ada"],
            (),
        ]
        mode = extensions.input_mode("$x")
        assert mode is not None
        assert (mode.label, extensions.input_mode("x")) == ("shout", None)
        assert [flag.name for _, flag in extensions.flags()] == ["loud"]
        assert extensions.views.markdown("hi", {}) == "HI"
        assert extensions.clashes() == []


async def test_failures_are_reported_and_do_not_propagate(tmp_path: Path) -> None:
    async with extension_session(tmp_path, kit([])) as hosted:
        assert await hosted.session.extensions.press("ctrl+x")

        assert hosted.failures == ["shortcut: no"]


async def test_an_extension_command_runs_before_input_handlers_and_cannot_be_queued(
    tmp_path: Path,
) -> None:
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("input", lambda event, ctx: story.append(f"input {event.text}"))

        @pi.command("do")
        def do(args: str, ctx: Any) -> None:
            story.append(f"did {args}")

    async with extension_session(tmp_path, extension, steps=(says("ok"),)) as hosted:
        await hosted.session.prompt("/do it")
        await hosted.session.prompt("/undo it")

        for queue in (hosted.session.steer, hosted.session.follow_up):
            with pytest.raises(PiError, match='Extension command "/do" cannot be queued'):
                await queue("/do more")
    assert story == ["did it", "input /undo it"]


async def test_failing_commands_shortcuts_and_transformers_are_only_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/boom")
        assert await hosted.session.extensions.press("ctrl+b")
        assert hosted.session.extensions.views.markdown("text", {}) == "text"
        await asyncio.sleep(0)

        failed = [
            (event.extension_path, event.error) for event in hosted.emitted("ExtensionFailed")
        ]
    assert failed == [
        ("command:boom", "cmd boom"),
        ("shortcut:ctrl+b", "It raised SystemExit: 3."),
        ("<inline:1:extension>", "hoarse"),
    ]
    assert 'raise ValueError("cmd boom")' in caplog.text
