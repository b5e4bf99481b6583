from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.runtime.agent_session import AgentSession
from pi.coding.runtime.events import BeforeRun
from pi.coding.session.opening import open_session
from tests.coding.extension_host.stage import FakeUI, playing
from tests.coding.runtime.stage import Stage


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


EXTENSION = """
def extension(pi):
    @pi.on("session_start")
    async def started(event, ctx):
        await pi.append_entry("heard", event.reason)

    @pi.on("session_switch")
    async def switched(event, ctx):
        await pi.append_entry("heard", "switch")

    @pi.command("bye")
    def bye(args, ctx):
        ctx.shutdown()
"""


def heard(session: AgentSession) -> list[Any]:
    """What extensions have put into the session."""
    entries = [msgspec.json.decode(entry) for entry in session.facts.entries()]
    return [entry["data"] for entry in entries if entry.get("customType") == "heard"]


async def test_an_extension_that_comes_with_a_reload_is_connected_to_everything(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, says("ok"))
    session = await stage.open()
    leaving = asyncio.ensure_future(session.extensions.shutdown_wanted())
    try:
        await session.start()
        assert (session.extensions.infos(), session.extensions.find("/bye")) == ((), None)
        stage.write(".pi/agent/extensions/late.py", EXTENSION)

        await session.extensions.reload()
        await session.prompt("hi")
        assert session.extensions.find("/bye") == "bye"
        await session.prompt("/bye")
        async with asyncio.timeout(30):
            await leaving

        assert heard(session) == ["reload"]
    finally:
        leaving.cancel()
        await session.close()


async def test_a_session_that_takes_the_place_of_another_may_be_the_first_with_extensions(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    try:
        await session.start()
        stage.write(".pi/agent/extensions/late.py", EXTENSION)

        await session.sessions.new()

        assert heard(session) == ["switch", "new"]
    finally:
        await session.close()


SLEEPING = """
# /// pi
# activate = ["command:nap", "entry:heard"]
# commands = { nap = "rest a little" }
# ///
def extension(pi):
    @pi.command("nap")
    async def nap(args, ctx):
        await pi.append_entry("heard", f"nap {args}")

    @pi.on("session_start")
    async def started(event, ctx):
        await pi.append_entry("heard", event.reason)
"""


async def test_one_that_waits_for_a_command_sleeps_until_somebody_types_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("ok"))
    stage.write(".pi/agent/extensions/nap.py", SLEEPING)
    session = await stage.open()
    try:
        await session.start()
        await session.prompt("hi")
        assert not stage.bus.heard(BeforeRun)

        await session.prompt("/nap now")

        assert heard(session) == ["nap now"]
        (info,) = session.extensions.infos()
        assert (info.name, info.state) == ("nap", "loaded")
    finally:
        await session.close()


async def test_commands_of_those_that_sleep_are_listed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/extensions/nap.py", SLEEPING)
    session = await stage.open()
    try:
        commands = [(each.name, each.description) for each in session.facts.commands()]
        assert commands == [("nap", "rest a little")]
        assert [info.state for info in session.extensions.infos()] == ["waiting"]
    finally:
        await session.close()


async def test_a_session_that_holds_what_one_waits_for_wakes_it_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("ok"))
    stage.write(".pi/agent/extensions/nap.py", SLEEPING)
    first = await stage.open()
    await first.prompt("/nap now")
    await first.prompt("hi")
    file = first.facts.file
    await first.close()
    assert file is not None

    session = await stage.open(open_log=lambda shelf: open_session(file, shelf))
    try:
        await session.start()
        assert heard(session) == ["nap now", "startup"]
    finally:
        await session.close()


async def test_themes_that_extensions_know_of_are_those_of_the_session_that_is_there(
    tmp_path: Path,
) -> None:
    known = ["themes/mine.json"]

    def extension(pi: ExtensionAPI) -> None:
        if known:
            pi.on("resources_discover", lambda event, ctx: {"theme_paths": known})

    async with playing(tmp_path, extension) as play:
        extensions = play.session.extensions
        told = [extensions.theme_paths]
        known.clear()
        await extensions.reload()
        told.append(extensions.theme_paths)

    assert told == [(play.stage.cwd / "themes/mine.json",), ()]
