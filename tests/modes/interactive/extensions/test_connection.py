from __future__ import annotations

from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre
from tests.screens.extended import extended


async def test_keys_that_extensions_cannot_have_are_reported_with_every_session_that_wants_them(
    tmp_path: Path,
) -> None:
    source = """
    @pi.command("more")
    async def more(args, ctx):
        pi.register_shortcut("ctrl+o", lambda ctx: None)
        ctx.ui.notify("registered")

    pi.register_shortcut("ctrl+p", lambda ctx: None)
    """
    async with extended(tmp_path, source, rows=40).playing() as theatre:
        await theatre.sees("Extension shortcut ctrl+p")
        assert theatre.session is not None
        await theatre.session.new_session()
        await theatre.loses("Extension shortcut ctrl+p")  # once is enough


async def test_a_session_without_extensions_is_shown_as_ever(tmp_path: Path) -> None:
    async with extended(tmp_path, "pass").playing() as theatre:
        theatre.type("hello")
        await theatre.sees("hello")


async def test_without_extensions_there_is_no_wait(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="echo hi"), says("**Done.**"))
    async with theatre.playing():
        theatre.type("/")
        await theatre.quiet()
        theatre.type("\x7f")
        theatre.send("go")
        await theatre.sees("Done.")
        await theatre.rests()

        assert theatre.session is not None
        assert theatre.session._core.extensions.host is None
