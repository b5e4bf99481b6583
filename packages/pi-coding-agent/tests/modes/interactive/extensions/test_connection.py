from __future__ import annotations

from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.extended_app import extended


async def test_a_shortcut_conflict_of_an_extension_is_reported_once(
    tmp_path: Path,
) -> None:
    source = """
    @pi.command("more")
    async def more(args, ctx):
        pi.register_shortcut("ctrl+o", lambda ctx: None)
        ctx.ui.notify("registered")

    pi.register_shortcut("ctrl+p", lambda ctx: None)
    """
    async with extended(tmp_path, source, rows=40).running() as app_fixture:
        await app_fixture.sees("Extension shortcut ctrl+p")
        assert app_fixture.session is not None
        await app_fixture.session.new_session()
        await app_fixture.loses("Extension shortcut ctrl+p")  # once is enough


async def test_the_editor_works_with_an_extension_that_registers_nothing(tmp_path: Path) -> None:
    async with extended(tmp_path, "pass").running() as app_fixture:
        app_fixture.type("hello")
        await app_fixture.sees("hello")


async def test_without_extensions_no_extension_host_is_started(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="echo hi"), says("**Done.**"))
    async with app_fixture.running():
        app_fixture.type("/")
        await app_fixture.quiet()
        app_fixture.type("\x7f")
        app_fixture.send("go")
        await app_fixture.sees("Done.")
        await app_fixture.rests()

        assert app_fixture.session is not None
        assert app_fixture.session._core.extensions.host is None


async def test_the_output_of_an_extension_command_is_shown_completely(tmp_path: Path) -> None:
    source = """
    @pi.command("report")
    async def report(args, ctx):
        ctx.write("\\\\n".join(f"row {number}" for number in range(9)))
    """
    async with extended(tmp_path, source, rows=40).running() as app_fixture:
        app_fixture.send("/report")
        await app_fixture.sees("row 0")

        await app_fixture.sees("row 8")
