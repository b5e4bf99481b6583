"""Interactive mode: paints the screen first and opens the session in the background."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import SystemClock
from pi.base.errors import PiError
from pi.base.files import agent_directory
from pi.cli.arguments import OPENS_STORED, Arguments
from pi.cli.signals import TerminatedBySignal, run_main
from pi.cli.standard_streams import print_error
from pi.modes.interactive import app
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.phases import phase

if TYPE_CHECKING:  # not imported before the first frame
    from pi.coding.trust import TrustChoice
    from pi.modes.interactive.ui import Commands, Ui


def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    when_ready: Callable[[], None] = lambda: None,
) -> int:
    """Run the interactive mode until the user quits; returns the exit code.

    ``when_ready`` is called after everything is loaded.
    """
    opened: list[OpenedSession] = []
    try:
        hint = run_main(app.run(_start(arguments, environ, when_ready, opened)))
    except TerminatedBySignal as ended:
        return 128 + ended.number
    except PiError as error:
        return _without_session(error)
    if hint:
        sys.stdout.write(f"{hint}\n")
    # A command of an extension may request an exit code.
    return next((code for session in opened if (code := session.port.extensions.exit_code)), 0)


def _start(
    arguments: Arguments,
    environ: Mapping[str, str],
    when_ready: Callable[[], None],
    opened: list[OpenedSession],
) -> AppOptions:
    async def open_in_background(opening: OpenContext) -> OpenedSession:
        from pi.cli.opening import open_session  # deferred: see _load

        opened.append(await open_session(arguments, environ, opening, when_ready))
        return opened[-1]

    tui_mode = arguments.text("tui_mode")
    home = Path(environ.get("HOME") or Path.home())
    return AppOptions(
        load=phase("session:load")(_load),
        load_rest=phase("session:load-rest")(_load_rest),
        open=open_in_background,
        commands=_commands,
        ask_trust=_ask_trust,
        environ=environ,
        cwd=Path.cwd(),
        home=home,
        agent_dir=agent_directory(environ),
        clock=SystemClock(),
        theme=arguments.text("use_theme"),
        fullscreen=None if tui_mode is None else tui_mode == "fullscreen",
        screen_reader="screen_reader" in arguments.options or _is_on(environ, "PI_SCREEN_READER"),
        verbose="verbose" in arguments.options,
        model_options=_model_options(arguments),
        system=sys.platform,
    )


_FOR_MODEL = ("model", "provider", "models", "thinking", "extension", "no_extensions", "approve")


def _model_options(arguments: Arguments) -> tuple[str, ...] | None:
    options = arguments.options
    if any(name in options for name in OPENS_STORED):
        return None
    return tuple(f"{name}={options[name]}" for name in _FOR_MODEL if name in options)


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "") not in ("", "0")


def _without_session(error: PiError) -> int:
    """Return the exit code if no session was opened; other errors are raised."""
    # Lazy: the first frame needs no session.
    from pi.cli.requested_session import OpenCancelled
    from pi.coding.session.errors import NoMatchingSession

    match error:
        case OpenCancelled():
            return 0
        case NoMatchingSession():
            print_error(error.message)  # without "Error:", like the original
            return 1
        case _:
            raise error


def _load() -> None:
    """Import what the session and its screen need: this takes longer than the first frame."""
    import pi.cli.opening
    import pi.modes.interactive.session_lifecycle  # noqa: F401 - imported for its side effect


def _load_rest() -> None:
    """Import what is not needed until the first prompt: commands, Markdown, views of tools."""
    import pi.modes.interactive.commands.table
    import pi.modes.interactive.transcript.tool_views
    import pi.tui.widgets.markdown.widget  # noqa: F401 - imported for its side effect


def _commands(ui: Ui) -> Commands:
    from pi.modes.interactive.commands.table import BuiltInCommands

    return BuiltInCommands(ui)


async def _ask_trust(ui: Ui, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
    from pi.modes.interactive.dialogs.project_trust import ask_trust

    return await ask_trust(ui, folder, gated)
