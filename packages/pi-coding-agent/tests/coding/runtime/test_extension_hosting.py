from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.session.opening import open_session
from tests.coding.extension_host.extension_session import FakeUI, extension_session, recorded_data
from tests.coding.runtime.session_fixture import SessionFixture


async def test_an_attached_ui_is_used_by_extensions(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("say")
        def say(args: str, ctx: Any) -> None:
            ctx.ui.notify(f"{ctx.mode} {ctx.has_ui}")

    ui = FakeUI()
    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/say")
        hosted.session.extensions.attach(ui, "tui")
        await hosted.session.prompt("/say")

    assert ui.seen == [("notify", "tui True")]


SLEEPING = """
# /// pi
# activate = ["command:nap", "entry:recorded"]
# commands = { nap = "rest a little" }
# ///
def extension(pi):
    @pi.command("nap")
    async def nap(args, ctx):
        await pi.append_entry("recorded", f"nap {args}")

    @pi.on("session_start")
    async def started(event, ctx):
        await pi.append_entry("recorded", event.reason)
"""


async def test_a_deferred_extension_is_loaded_when_its_command_is_typed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    fixture.write(".pi/agent/extensions/nap.py", SLEEPING)
    session = await fixture.open()
    try:
        await session.start()
        await session.prompt("hi")
        assert session._core.extensions.host is None

        await session.prompt("/nap now")

        assert recorded_data(session) == ["nap now"]
        (info,) = session.extensions.infos()
        assert (info.name, info.state) == ("nap", "loaded")
    finally:
        await session.close()


async def test_commands_of_deferred_extensions_are_listed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/nap.py", SLEEPING)
    session = await fixture.open()
    try:
        commands = [(command.name, command.description) for command in session.info.commands()]
        assert commands == [("nap", "rest a little")]
        assert [info.state for info in session.extensions.infos()] == ["waiting"]
    finally:
        await session.close()


async def test_an_entry_of_a_resumed_session_loads_its_deferred_extension(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    fixture.write(".pi/agent/extensions/nap.py", SLEEPING)
    first = await fixture.open()
    await first.prompt("/nap now")
    await first.prompt("hi")
    file = first.entries.log.file
    await first.close()
    assert file is not None

    session = await fixture.open(open_log=lambda location: open_session(file, location))
    try:
        await session.start()
        assert recorded_data(session) == ["nap now", "startup"]
    finally:
        await session.close()


async def test_theme_paths_of_extensions_are_updated_on_reload(
    tmp_path: Path,
) -> None:
    paths = ["themes/mine.json"]

    def extension(pi: ExtensionAPI) -> None:
        if paths:
            pi.on("resources_discover", lambda event, ctx: {"theme_paths": paths})

    async with extension_session(tmp_path, extension) as hosted:
        extensions = hosted.session.extensions.hosting
        reported = [extensions.theme_paths]
        paths.clear()
        await hosted.session.sessions.reload()
        reported.append(extensions.theme_paths)

    assert reported == [(hosted.fixture.cwd / "themes/mine.json",), ()]


async def test_the_extension_host_is_not_created_before_a_deferred_extension_is_used(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    fixture.write(".pi/agent/extensions/nap.py", SLEEPING)
    session = await fixture.open()
    try:
        await session.start()
        extensions = session.extensions

        assert [command.name for command in session.info.commands()] == ["nap"]
        assert (extensions.find("/nap now"), extensions.find("/else")) == ("nap", None)
        assert (extensions.shortcuts(), extensions.views.has_any("tool")) == ({}, False)
        assert extensions.views.markdown("*text*", {}) == "*text*"
        await session.prompt("/else")
        assert session._core.extensions.host is None
    finally:
        await session.close()
