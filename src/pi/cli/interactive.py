"""The interactive mode: the screen first, the session behind it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import SystemClock
from pi.base.errors import PiError
from pi.cli.agent_dir import agent_directory
from pi.cli.arguments import Arguments
from pi.cli.process import TerminatedBySignal, until_signal
from pi.modes.interactive import app
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.phases import phase

if TYPE_CHECKING:  # nothing of this is loaded before the first frame
    from pi.coding.trust import TrustChoice
    from pi.modes.interactive.ui import Commands, Ui


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Talk with the person until they leave; the exit code.

    ``when_ready`` is called once everything is loaded.
    """
    try:
        hint = asyncio.run(until_signal(app.run(_start(arguments, environ, when_ready))))
    except TerminatedBySignal as ended:
        return 128 + ended.number
    except PiError as problem:
        return _without_session(problem)
    if hint:
        sys.stdout.write(f"{hint}\n")
    return 0


def _start(
    arguments: Arguments, environ: Mapping[str, str], when_ready: Callable[[], None]
) -> AppOptions:
    async def open_behind_the_screen(opening: OpenContext) -> OpenedSession:
        from pi.cli.opening import open_session  # not at the top: see _load

        return await open_session(arguments, environ, opening, when_ready)

    tui_mode = arguments.text("tui_mode")
    return AppOptions(
        load=phase("session:load")(_load),
        open=open_behind_the_screen,
        commands=_commands,
        ask_trust=_ask_trust,
        environ=environ,
        cwd=Path.cwd(),
        home=Path(environ.get("HOME") or Path.home()),
        agent_dir=agent_directory(environ),
        clock=SystemClock(),
        theme=arguments.text("use_theme"),
        fullscreen=None if tui_mode is None else tui_mode == "fullscreen",
        verbose=arguments.switch("verbose"),
        system=sys.platform,
    )


def _without_session(problem: PiError) -> int:
    """The exit code when there is no session to talk in; others tell what is not told here."""
    from pi.cli.process import print_error
    from pi.cli.session_setup import OpenCancelled
    from pi.coding.session.errors import NoMatchingSession

    match problem:
        case OpenCancelled():
            return 0
        case NoMatchingSession():
            print_error(problem.message)  # without "Error:", as the original does it
            return 1
        case _:
            raise problem


def _load() -> None:
    """Import what the session and the screen around it need: all of it is slower than a frame."""
    import pi.cli.opening
    import pi.modes.interactive.commands.table
    import pi.modes.interactive.session_lifecycle  # noqa: F401 - imported to be there


def _commands(ui: Ui) -> Commands:
    from pi.modes.interactive.commands.table import BuiltInCommands

    return BuiltInCommands(ui)


async def _ask_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    from pi.modes.interactive.dialogs.opening import ask_trust

    return await ask_trust(ui, folder)
