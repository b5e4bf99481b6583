"""The table of commands."""

from __future__ import annotations

from pathlib import Path

from msgspec import to_builtins

from pi.modes.interactive.commands.built_in import BUILT_IN, BuiltInCommands
from pi.modes.interactive.commands.preferences import help
from pi.modes.interactive.ui import Commands
from tests.coding.extension_host.stage import playing
from tests.coding.runtime.stage import Pair, Stage
from tests.coding.runtime.test_elsewhere import FakeRemote
from tests.modes.interactive.commands.acting import acting
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


async def test_debug_is_there_but_not_in_the_menu(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        commands: Commands = BuiltInCommands(FakeScreen(tmp_path, play.session, play.stage.host))
        assert "debug" not in [command.name for command in commands.listed()]
        work = commands.find("debug", "")
        assert work is not None
        work.close()


async def test_what_only_whoever_runs_the_session_can_do_is_not_offered_to_others(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as play:
        session, control = play.session, play.host.session.control
        screen = FakeScreen(tmp_path, session, play.stage.host)
        commands = BuiltInCommands(screen)
        of_own = {command.name for command in commands.listed()}
        header = to_builtins(session.facts.header)
        await control.open_replica({**header, "id": "other"}, FakeRemote("prompt"))
        of_others = {command.name for command in commands.listed()}
        await help(screen, "")
        told = screen.told(100)

    hidden = {"model", "tree", "thinking", "scoped-models", "name", "compact"}
    assert of_own - of_others == hidden
    assert [name for name in hidden if f"/{name}" in told] == []
    assert "/resume" in told


def test_what_is_no_built_in_command_is_left_to_the_session(tmp_path: Path) -> None:
    commands = BuiltInCommands(FakeScreen(tmp_path))
    assert [commands.find(name, "") for name in ("nothing", "skill:x", "tmp/x", "")] == [None] * 4


async def test_help_is_made_from_the_table(tmp_path: Path) -> None:
    async with acting(tmp_path) as on:
        await on.run("/help")
        told = on.screen.told(100)
        assert [row.name for row in BUILT_IN if row.listed and f"/{row.name}" not in told] == []
        assert "/debug" not in told


async def test_arguments_are_completed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open()
    listed = BuiltInCommands(FakeScreen(tmp_path, session, stage.host)).listed()
    commands = {command.name: command for command in listed}

    async def offered(name: str, typed: str) -> list[str]:
        complete = commands[name].complete
        assert complete is not None
        return [each.value for each in await complete(typed)]

    assert "faux/plain" in await offered("model", "plain")
    assert (await offered("thinking", "hi"))[0] == "high"
    assert await offered("theme", "lig") == ["light"]
    assert commands["quit"].complete is None
    await session.close()
