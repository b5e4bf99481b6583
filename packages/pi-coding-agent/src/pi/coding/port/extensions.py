"""``ExtensionsPort``: the extensions of a session as modes use them, and its records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from msgspec import field

from pi.base.records import Record

if TYPE_CHECKING:
    from pi.coding.port.ui import ExtensionUI, Mode


class InputMode(Record):
    """Handles input that starts with a prefix."""

    label: str
    """Shown at the editor while text with the prefix is typed."""
    run: Callable[[str, Any], Any]
    """``run(text, ctx)``, sync or async.

    Called with the text after the prefix when it is submitted.
    """
    colour: str = "bashMode"
    """Colour of the editor's border, by its name in the theme."""


Sink: TypeAlias = Literal["log", "export", "share", "collab"]
"""The destination of a text: the log, an export, a shared page, or guests of a live session."""


CheckLevel: TypeAlias = Literal["good", "note", "missing", "broken"]
"""``broken`` makes ``pi doctor`` fail; ``missing`` is optional: the user may want to add it."""


class CheckResult(Record):
    """One line of ``pi doctor``, with a hint."""

    level: CheckLevel
    """``good``, ``note``, ``missing`` (the user may want to add it) or ``broken``."""
    topic: str = ""
    """Shown before the text; empty for the name of the extension's check."""
    text: str
    advice: str = ""


class NameConflict(Record):
    """A registration that has no effect, because its name is taken."""

    kind: str
    name: str
    loser: str
    """Path of the extension that registered it."""
    winner: str
    """Path of the extension that owns the name; ``pi`` if it is built in."""


ViewKind: TypeAlias = Literal["tool", "message", "entry", "status", "code"]


class ViewOptions(Record):
    """Options of a view."""

    expanded: bool = False
    """Whether the full content is shown."""
    output_pad: int = 0
    """Columns of padding to the left of texts."""
    hyperlinks: bool = False
    """Whether the terminal shows hyperlinks (OSC 8); otherwise they are removed from views."""


class ExtensionViews(Protocol):
    """Views that extensions have registered."""

    def has(self, kind: ViewKind, name: str) -> bool:
        """Whether an extension has a view with that kind and name."""
        ...

    def has_any(self, kind: ViewKind) -> bool:
        """Whether an extension has a view of that kind."""
        ...

    def rows(
        self, kind: ViewKind, name: str, value: object, options: ViewOptions, theme: Any, width: int
    ) -> list[str] | None:
        """Return the rows of an extension's view; ``None`` for the default rendering."""
        ...

    def markdown(self, text: str, about: Mapping[str, Any]) -> str:
        """Return Markdown after the transforms of all extensions."""
        ...


class ExtensionsPort(Protocol):
    """The extensions of a session, as modes use them."""

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Connect the user interface. Call it before the session is started."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """Facts about the session that extensions have published, such as ``approval``."""
        ...

    def infos(self) -> Sequence[ExtensionInfo]:
        """Return every extension that was found."""
        ...

    @property
    def switches(self) -> SwitchesPort:
        """Switches extensions on and off."""
        ...

    def clashes(self) -> Sequence[NameConflict]:
        """Return registrations that have no effect, because their names are taken."""
        ...

    @property
    def foreign(self) -> Sequence[str]:
        """Files that only the original pi can run."""
        ...

    def missing_extra_notes(self) -> Sequence[str]:
        """Return a line for each recommended battery whose extra is not installed."""
        ...

    def find(self, text: str) -> str | None:
        """Return the name of the extension command that ``text`` calls, or ``None``."""
        ...

    def shortcuts(self) -> Mapping[str, str]:
        """Return the shortcut keys of extensions with their descriptions."""
        ...

    async def press(self, key: str) -> bool:
        """Run the shortcut of a key. Returns False if no extension has registered the key."""
        ...

    @property
    def views(self) -> ExtensionViews:
        """Views of tools, messages, entries, statuses and code."""
        ...

    def input_mode(self, text: str) -> InputMode | None:
        """Return the input mode for the prefix of a text, or ``None``."""
        ...

    async def handle_input(self, text: str) -> bool:
        """Pass a text to its input mode. Returns False if it has none."""
        ...

    def redacted(self, text: str, sink: Sink) -> str:
        """Return ``text`` after the redaction of all extensions."""
        ...

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Call ``moved`` when another session or branch is shown.

        ``reloaded`` is called when the session is the same, but its extensions were reloaded.
        """
        ...

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """Return completions for an argument of a command."""
        ...

    async def references(self, typed: str) -> Sequence[str]:
        """Return completions for a partly typed reference such as ``rule://``."""
        ...

    @property
    def shutdown_requested(self) -> asyncio.Event:
        """Set when an extension requests shutdown."""
        ...

    @property
    def exit_code(self) -> int | None:
        """The exit code that a command requested with ``ctx.exit``; ``None`` if none did."""
        ...


class ExtensionInfo(Record):
    """One extension, for lists and ``--verbose``."""

    name: str
    path: str
    rank: str
    source: str = ""
    """The package that contains it, or another origin, such as ``inline``."""
    state: Literal["waiting", "loaded", "failed"] = "waiting"
    """``waiting`` until a trigger of its manifest occurs, or if it does not support the mode."""
    milliseconds: float = 0.0
    """Duration of loading."""
    problem: str = ""
    """Why loading failed."""
    description: str = ""
    """A description in one line."""
    benefit: str = ""
    """What the user gets, in two or three plain words."""
    adds: tuple[str, ...] = ()
    """Its registrations: ``/command``, ``--flag``, ``tool name``, ``key Ctrl+X``."""
    activation: tuple[str, ...] = ()
    """The triggers that load it; empty if it is loaded with every session."""
    switch: str = ""
    """The setting that enables it; empty if there is none."""
    is_recommended: bool = False
    """Whether ``batteries: "recommended"`` enables it."""
    recommended: dict[str, Any] = field(default_factory=dict)
    """The settings, by dotted name, with which it enables it."""
    needs: tuple[str, ...] = ()
    """The requirements of its extras that are not installed."""
    install: str = ""
    """The command that installs them; empty if none is missing."""


RowGroup: TypeAlias = Literal["on", "recommended", "more", "needs"]
"""``on``: it is on, or loads when it is used. The others are off; ``needs`` lack a library."""

RowState: TypeAlias = Literal["on", "session", "ready", "off", "needs", "failed"]
"""``session``: on for this session only. ``ready``: no setting, it loads when it is used."""


class ExtensionRow(Record):
    """One extension with the setting that switches it, for ``/extensions`` and programs."""

    name: str
    benefit: str = ""
    """What it does, in one line."""
    group: RowGroup
    state: RowState
    recommended: bool = False
    """Whether ``batteries: "recommended"`` enables it."""
    setting: str = ""
    """The setting that switches it, by its dotted name; empty if there is none."""
    kind: str = ""
    """The kind of that setting: ``choice``, ``text``, ``list``, ``json``."""
    choices: tuple[str | int | bool | None, ...] = ()
    """Its values, if only some are valid."""
    value: Any = None
    """Its current value; ``None`` if it is not set."""
    asks: bool = False
    """Whether switching it on needs a value from the user."""
    libraries: tuple[str, ...] = ()
    """The requirements of its extras, installed or not."""
    needs: tuple[str, ...] = ()
    """Those that are not installed."""
    install: str = ""
    """The command that installs what is missing."""
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """Slash commands, without the slash."""
    flags: tuple[str, ...] = ()
    """Options of the command line, without the dashes."""
    tokens: int | None = None
    """About how many tokens it adds to each request; ``None`` if that is not known."""
    activation: tuple[str, ...] = ()
    """What loads it besides its setting."""
    rank: str = "bundled"
    """``bundled`` for a battery; else where it comes from."""
    path: str = ""
    source: str = ""
    milliseconds: float = 0.0
    """Duration of loading."""
    problem: str = ""
    """Why it could not be loaded."""


class SwitchesPort(Protocol):
    """Switches extensions of the session on and off; the only way to do so."""

    def rows(self) -> list[ExtensionRow]:
        """Return every extension with its state."""
        ...

    async def switch(self, name: str, *, on: bool, value: object = None, keep: bool = True) -> str:
        """Switch an extension at once; returns a sentence that says what is true now.

        ``value`` is that of its setting, if it needs one. Without ``keep`` only this session
        changes. Raises ``PiError``: ``NeedsValue`` if a value is missing.
        """
        ...

    async def change(self, changes: Mapping[str, object], *, keep: bool = True) -> str:
        """Store settings by dotted name, and load or unload the extensions that they switch.

        Returns what is true now of the extensions whose switches were among them. Raises
        ``PiError``.
        """
        ...
