"""Options of the application, the opened session and key bindings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.base.records import UNREADABLE, Record
from pi.modes.interactive.theme_selector import themes_in
from pi.tui.input.keymap import KeyBindings, Keymap, read_user_keys

if TYPE_CHECKING:
    from pi.ai.messages import Image
    from pi.base.clock import Clock
    from pi.coding.extension_host.watchdog import OnStall
    from pi.coding.port.session import SessionPort
    from pi.coding.port.ui import ExtensionUI
    from pi.coding.runtime.machine import Machine
    from pi.coding.trust import AskTrust, TrustChoice
    from pi.modes.interactive.ui import Commands, Ui


class StartRefused(PiError):
    """The session cannot run as the command line requests it; the application ends with this."""


class OpenContext(Record):
    """The parts of the screen that are used while a session is opened."""

    ask_trust: AskTrust
    report: Callable[[str], None]
    """Shows a notice to the user."""
    ui: Ui
    """Shows a dialog, e.g. to choose the session, before a session is open."""
    extension_ui: ExtensionUI | None = None
    """The user interface of extensions."""
    on_stall: OnStall | None = None
    """Called in its own thread when an extension blocks the event loop."""


class OpenedSession:
    """A session with its start-up data. The program that opens it overrides the methods."""

    def __init__(
        self,
        port: SessionPort,
        host: Machine,
        *,
        lines: tuple[str, ...] = (),
        note: str = "",
        messages: tuple[tuple[str, tuple[Image, ...]], ...] = (),
        command: str = "",
    ) -> None:
        self.port = port
        self.host = host
        self.lines = lines
        """Start-up lines: version, model, folder, and what was loaded."""
        self.note = note
        """Notes for the user about the start."""
        self.messages = messages
        """Prompts to send at once, in order."""
        self.command = command
        """A command that picks another session before anything is sent.

        If none is picked, ``messages`` are put into the editor and not sent.
        """

    def themes(self) -> Sequence[Path]:
        """Return the theme files of this session, by precedence."""
        return themes_in(self.host.agent_dir / "themes")

    async def begin(self) -> None:
        """Emit the start event of the session, once the screen is ready.

        Raises ``StartRefused`` if the application must end.
        """

    async def welcome(self, ui: Ui) -> None:
        """Run before prompts are sent, e.g. for the dialogs of a first start."""

    async def picked(self) -> None:
        """Called when ``command`` has ended, before anything is sent to the session then open."""

    async def news(self) -> str:
        """Return a notice, found in the background; often empty."""
        return ""

    async def refresh(self) -> None:
        """Update cached facts in the background."""

    def leave(self) -> str:
        """Called when the session is closed; returns how to resume it, or nothing."""
        return ""


OpenSession: TypeAlias = Callable[[OpenContext], Awaitable[OpenedSession]]
"""Opens the session after the first frame; the caller closes the result."""


class AppOptions(Record):
    """Options of the application."""

    load: Callable[[], None]
    """Imports what ``open`` needs. Runs in a thread, so that keys are handled meanwhile."""
    load_rest: Callable[[], None]
    """Imports what the first prompt needs, once the open session is shown; also in a thread."""
    open: OpenSession
    commands: Callable[[Ui], Commands]
    ask_trust: Callable[[Ui, Path, Sequence[Path]], Awaitable[TrustChoice | None]]
    environ: Mapping[str, str]
    cwd: Path
    home: Path
    agent_dir: Path
    clock: Clock
    theme: str | None = None
    """The initial theme, overrides the settings."""
    fullscreen: bool | None = None
    """Whether to use fullscreen mode, overrides the settings."""
    screen_reader: bool = False
    """Whether to write plain lines; the settings may request it, too."""
    verbose: bool = False
    model_options: tuple[str, ...] | None = None
    """The command-line options that select the model; ``None`` if a stored session selects it."""
    system: str = "linux"
    """``sys.platform``."""


# Key bindings -------------------------------------------------------------------------------------


NAME = "keybindings.json"


def load_keys(keymap: Keymap, agent_dir: Path) -> tuple[str, ...]:
    """Apply the file to ``keymap``; returns the errors, one line each."""
    keys = _read(agent_dir / NAME)
    keymap.load(keys.bindings)
    shared = [
        f"{NAME}: {conflict.key} is bound to {' and '.join(conflict.actions)}."
        for conflict in keymap.conflicts
    ]
    return (*keys.problems, *shared)


def _read(path: Path) -> KeyBindings:
    content = read_if_exists(path)
    if content is None:
        return KeyBindings(bindings={})
    try:
        return read_user_keys(msgspec.json.decode(content))
    except UNREADABLE as error:
        return KeyBindings(bindings={}, problems=(f"{path} is not JSON: {error}",))
