"""What is handed to the application, and what it gets back when the session is there."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from pi.base.files import read_if_exists, read_regular
from pi.base.records import UNREADABLE, Record
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


class OpenContext(Record):
    """What the opening of a session may ask of the screen."""

    ask_trust: AskTrust
    report: Callable[[str], None]
    """Tell the person something, in a line."""
    ui: Ui
    """For a dialog, e.g. to choose the session; it has no session yet."""
    extension_ui: ExtensionUI | None = None
    """The same, for extensions."""
    on_stall: OnStall | None = None
    """What to do, in a thread of its own, when an extension holds everything up."""


class OpenedSession(Record):
    """A session, and what belongs to it."""

    port: SessionPort
    host: Machine
    lines: tuple[str, ...] = ()
    """What was loaded, for the person to read."""
    note: str = ""
    """What the person should know about how it began."""
    themes: Callable[[], Iterable[Path]] | None = None
    """The files of themes that there are for this session, what wins first."""
    messages: tuple[tuple[str, tuple[Image, ...]], ...] = ()
    """What to say at once, one after the other."""
    command: str = ""
    """A command that chooses another session, before anything is said.

    If it chooses none, ``messages`` are put into the editor and not sent.
    """
    begin: Callable[[], Awaitable[None]] | None = None
    """Tells everybody that the session is there, once the screen is."""
    welcome: Callable[[Ui], Awaitable[None]] | None = None
    """Meets the person before anything is said, e.g. to ask what a newcomer has to decide."""
    news: Callable[[], Awaitable[str]] | None = None
    """Finds out, behind everything else, something to tell in passing; often it is nothing."""
    leave: Callable[[], str] = lambda: ""
    """Called when the session is closed; gives how to come back to it, or nothing."""


OpenSession: TypeAlias = Callable[[OpenContext], Awaitable[OpenedSession]]
"""Opens the session behind the first frame; whoever calls it closes what it gives."""


class AppOptions(Record):
    """How the application is started."""

    load: Callable[[], None]
    """Imports what ``open`` needs. Runs in a thread, so that keys are seen meanwhile."""
    open: OpenSession
    commands: Callable[[Ui], Commands]
    ask_trust: Callable[[Ui, Path], Awaitable[TrustChoice | None]]
    environ: Mapping[str, str]
    cwd: Path
    home: Path
    agent_dir: Path
    clock: Clock
    theme: str | None = None
    """The theme to begin with, whatever the settings say."""
    fullscreen: bool | None = None
    """Whether to take the whole screen, whatever the settings say."""
    verbose: bool = False
    system: str = "linux"
    """``sys.platform``."""


# The few settings that the first frame needs, read before anything else is loaded.
#
# Names and defaults are those of ``pi.coding.settings.values``, which a test compares; loading
# that module, and what it needs, would take a tenth of the time until the first frame.


class EarlyTerminal(Record):
    """What the person wants of their terminal."""

    hyperlinks: bool | Literal["auto"] = "auto"
    true_color: bool | Literal["auto"] = "auto"
    images: Literal["kitty", "iterm2", "auto", False] = "auto"


class EarlySettings(Record):
    """How the first frame looks."""

    theme: str | None = None
    tui_mode: Literal["regular", "fullscreen"] = "regular"
    fullscreen_exit_output: Literal["transcript", "resume-hint"] = "transcript"
    fullscreen_scrollbar: Literal["auto", "always", "hidden"] = "auto"
    default_thinking_level: str = "medium"
    editor_padding_x: Annotated[int, Meta(ge=0, le=3)] = 0
    autocomplete_max_visible: Annotated[int, Meta(ge=3, le=20)] = 5
    show_hardware_cursor: bool = False
    terminal: EarlyTerminal = EarlyTerminal()


def early_settings(agent_dir: Path) -> EarlySettings:
    """What the person's file says; if it is wrong, the session tells, and defaults hold."""
    try:
        content = read_regular(agent_dir / "settings.json")
        return msgspec.json.decode(content.removeprefix(BOM_UTF8), type=EarlySettings)
    except (OSError, *UNREADABLE):
        return EarlySettings()


# The person's key bindings, from ``keybindings.json``.


NAME = "keybindings.json"


def load_keys(keymap: Keymap, agent_dir: Path) -> tuple[str, ...]:
    """Have ``keymap`` follow the file; gives what is wrong with it, in a line each."""
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
    except UNREADABLE as problem:
        return KeyBindings(bindings={}, problems=(f"{path} is not JSON: {problem}",))
