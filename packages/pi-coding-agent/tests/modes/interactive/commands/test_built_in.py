"""The table of commands."""

from __future__ import annotations

from pathlib import Path

from msgspec import to_builtins

from pi.coding.extension_host.contributions.commands import BUILT_IN as RESERVED
from pi.coding.extension_host.control import SessionControl
from pi.extension import CommandContext, ExtensionAPI
from pi.modes.interactive.commands.application import help
from pi.modes.interactive.commands.table import BUILT_IN, BuiltInCommands
from pi.modes.interactive.ui import Commands
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import Pair, SessionFixture
from tests.coding.runtime.test_remote_session import FakeRemote
from tests.modes.interactive.commands.command_fixture import command_fixture
from tests.modes.interactive.fake_screen import FakeScreen

MENU = [
    *("settings", "model", "tree", "thinking", "scoped-models", "export", "import", "share"),
    *("bug", "copy", "name", "session", "changelog", "hotkeys", "fork", "clone", "trust"),
    *("login", "logout", "new", "compact", "resume", "reload", "quit"),
]
"""The original's, in its order."""


def test_the_menu_has_every_command_of_the_original_in_its_order() -> None:
    names = [row.name for row in BUILT_IN]
    assert [name for name in names if name in MENU] == MENU
    assert len(names) == len(set(names))


async def test_the_debug_command_exists_but_is_not_in_the_menu(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        commands: Commands = BuiltInCommands(
            FakeScreen(tmp_path, hosted.session, hosted.fixture.host)
        )
        assert "debug" not in [command.name for command in commands.listed()]
        work = commands.find("debug", "")
        assert work is not None
        work.close()


async def test_commands_of_a_local_run_are_not_offered_for_a_shown_session(
    tmp_path: Path,
) -> None:
    async with extension_session(tmp_path) as hosted:
        session, control = hosted.session, SessionControl(hosted.session)
        screen = FakeScreen(tmp_path, session, hosted.fixture.host)
        commands = BuiltInCommands(screen)
        of_own = {command.name for command in commands.listed()}
        header = to_builtins(session.entries.log.header)
        await control.open_replica({**header, "id": "other"}, FakeRemote("prompt"))
        of_others = {command.name for command in commands.listed()}
        await help(screen, "")
        reported = screen.printed(100)

    hidden = {"model", "tree", "branch", "thinking", "scoped-models", "name", "compact"}
    assert of_own - of_others == hidden
    assert [name for name in hidden if f"/{name}" in reported] == []
    assert "/resume" in reported


def test_only_commands_of_the_original_pi_and_debug_cannot_be_overridden() -> None:
    assert {row.name for row in BUILT_IN if not row.yields} == {*MENU, "debug"} == RESERVED


async def test_an_overridden_command_is_listed_under_its_longer_name(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/prompts/help.md", "Help me with $1")
    fixture.write(".pi/agent/prompts/model.md", "Model $1")
    async with await fixture.open() as session:
        screen = FakeScreen(tmp_path, session, fixture.host)
        commands = BuiltInCommands(screen)
        names = {command.name for command in commands.listed()}
        await help(screen, "")
        reported = screen.printed(100)

        assert {"pi:help", "model"} <= names and not {"help", "pi:model"} & names
        assert commands.find("help", "") is None
        assert "/pi:help" in reported and "Help me with" in reported
        for name in ("pi:help", "model", "pi:model"):
            work = commands.find(name, "")
            assert work is not None
            work.close()


async def test_an_extension_can_override_a_command_that_yields(tmp_path: Path) -> None:
    async with extension_session(tmp_path, _usage) as hosted:
        commands = BuiltInCommands(FakeScreen(tmp_path, hosted.session, hosted.fixture.host))
        assert commands.find("usage", "") is None
        await hosted.session.prompts.prompt("/usage of x")
        assert USED == ["of x"]


USED: list[str] = []


def _usage(pi: ExtensionAPI) -> None:
    @pi.command("usage", description="ours")
    def usage(arguments: str, ctx: CommandContext) -> None:
        USED.append(arguments)


def test_names_that_are_not_built_in_commands_are_not_found(tmp_path: Path) -> None:
    commands = BuiltInCommands(FakeScreen(tmp_path))
    assert [commands.find(name, "") for name in ("nothing", "skill:x", "tmp/x", "")] == [None] * 4


async def test_help_lists_every_listed_command(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/help")
        reported = on.screen.printed(100)
        assert [row.name for row in BUILT_IN if row.listed and f"/{row.name}" not in reported] == []
        assert "/debug" not in reported


async def test_arguments_are_completed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open()
    listed = BuiltInCommands(FakeScreen(tmp_path, session, fixture.host)).listed()
    commands = {command.name: command for command in listed}

    async def offered(name: str, typed: str) -> list[str]:
        complete = commands[name].complete
        assert complete is not None
        return [suggestion.value for suggestion in await complete(typed)]

    assert "faux/plain" in await offered("model", "plain")
    assert (await offered("thinking", "hi"))[0] == "high"
    assert await offered("theme", "lig") == ["light", "high-contrast-light"]
    assert await offered("fork", "") == []
    assert commands["quit"].complete is None
    await session.prompts.prompt("first")
    await session.prompts.prompt("second")
    first, second = (point.entry_id for point in session.info.fork_points())
    assert await offered("fork", "") == [second, first]
    assert await offered("branch", "first") == [first]
    await session.close()
