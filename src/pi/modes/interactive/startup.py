"""What is handed to the application, and what it gets back when the session is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pi.base.records import Record

if TYPE_CHECKING:  # none of this is loaded before the first frame
    from pi.ai.messages import Image
    from pi.base.clock import Clock
    from pi.coding.extension_host.stalls import OnStall
    from pi.coding.extension_host.ui import ExtensionUI
    from pi.coding.runtime.host import Host
    from pi.coding.runtime.port import SessionPort
    from pi.coding.trust.trust import AskPerson, Choice
    from pi.modes.interactive.ui import Commands, Ui


class Opening(Record):
    """What the opening of a session may ask of the screen."""

    ask_trust: AskPerson
    report: Callable[[str], None]
    """Tell the person something, in a line."""
    ui: Ui
    """For a dialog, e.g. to choose the session; it has no session yet."""
    extension_ui: ExtensionUI | None = None
    """The same, for extensions."""
    on_stall: OnStall | None = None
    """What to do, in a thread of its own, when an extension holds everything up."""


class Opened(Record):
    """A session, and what belongs to it."""

    port: SessionPort
    host: Host
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


OpenSession: TypeAlias = Callable[[Opening], Awaitable[Opened]]
"""Opens the session behind the first frame; whoever calls it closes what it gives."""


class Start(Record):
    """How the application is started."""

    load: Callable[[], None]
    """Imports what ``open`` needs. Runs in a thread, so that keys are seen meanwhile."""
    open: OpenSession
    commands: Callable[[Ui], Commands]
    ask_trust: Callable[[Ui, Path], Awaitable[Choice | None]]
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
