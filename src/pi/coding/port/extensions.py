"""``ExtensionsPort``: what modes provide to extensions and request from them, and its records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pi.base.records import Record

if TYPE_CHECKING:
    from pi.coding.port.ui import ExtensionUI, Mode


class InputMode(Record):
    """Texts with a prefix, and the extension function that handles them."""

    label: str
    """Shown at the editor while such a text is typed."""
    run: Callable[[str, Any], Any]
    """``run(text, ctx)``, sync or async.

    Called with the text after the prefix when it is submitted.
    """
    colour: str = "bashMode"
    """Colour of the editor's border, by its name in the theme."""


Sink: TypeAlias = Literal["log", "export", "share", "collab"]
"""Where a text goes: the log, an export, a shared page, or guests of a live session."""


CheckLevel: TypeAlias = Literal["good", "note", "missing", "broken"]
"""``broken`` makes `pi doctor` fail; ``missing`` is something that the user may want to add."""


class CheckResult(Record):
    """One line of ``pi doctor``, with a hint."""

    level: CheckLevel
    """``good``, ``note``, ``missing`` (the user may want to add it) or ``broken``."""
    topic: str = ""
    """Shown before the text; an extension may leave it to the name of its check."""
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
    """How something is drawn."""

    expanded: bool = False
    """Whether the full content is shown."""
    output_pad: int = 0
    """Columns of padding to the left of texts."""
    hyperlinks: bool = False
    """Whether the terminal shows hyperlinks (OSC 8); otherwise they are removed from views."""


class ExtensionViews(Protocol):
    """Renderers that extensions have registered."""

    def has(self, kind: ViewKind, name: str) -> bool:
        """Whether an extension renders this."""
        ...

    def has_any(self, kind: ViewKind) -> bool:
        """Whether an extension renders anything of this kind."""
        ...

    def rows(
        self, kind: ViewKind, name: str, value: object, options: ViewOptions, theme: Any, width: int
    ) -> list[str] | None:
        """Return the rows that an extension renders; ``None`` if none does."""
        ...

    def markdown(self, text: str, about: Mapping[str, Any]) -> str:
        """Return Markdown after the transforms of all extensions."""
        ...


class ExtensionsPort(Protocol):
    """What modes provide to extensions, and request from them."""

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Connect the user interface. To be called before the session is started."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """Facts about the session that extensions have published, such as ``approval``."""
        ...

    def infos(self) -> Sequence[ExtensionInfo]:
        """Every extension that was found."""
        ...

    def clashes(self) -> Sequence[NameConflict]:
        """Registrations that have no effect, because their names are taken."""
        ...

    @property
    def foreign(self) -> Sequence[str]:
        """Files that only the original pi can run."""
        ...

    def missing_extra_notes(self) -> Sequence[str]:
        """Return a line for each recommended battery whose extra is not installed."""
        ...

    def find(self, text: str) -> str | None:
        """Return the name of the extension command that ``text`` calls, if any."""
        ...

    def shortcuts(self) -> Mapping[str, str]:
        """Shortcut keys of extensions, with their descriptions."""
        ...

    async def press(self, key: str) -> bool:
        """Run the shortcut of a key. Returns False if no extension has registered the key."""
        ...

    @property
    def views(self) -> ExtensionViews:
        """Renderers for tools, messages, entries and statuses."""
        ...

    def input_mode(self, text: str) -> InputMode | None:
        """Return the input mode of a text by its prefix, if an extension has registered one."""
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
    """The package that contains it, or how else it was found."""
    state: Literal["waiting", "loaded", "failed"] = "waiting"
    """``waiting`` until an event occurs that its manifest names, or if it is for other modes."""
    milliseconds: float = 0.0
    """How long loading took."""
    problem: str = ""
    """Why loading failed."""
    description: str = ""
    """What it does, in one line."""
    adds: tuple[str, ...] = ()
    """What it registered or declares: ``/command``, ``--flag``, ``tool name``, ``key Ctrl+X``."""
    activation: tuple[str, ...] = ()
    """What loads it, if it is not loaded with every session."""
    switch: str = ""
    """The setting that switches it on and off; empty if there is none."""
    is_recommended: bool = False
    """Whether ``batteries: "recommended"`` switches it on."""
    install: str = ""
    """The command that installs what it lacks; empty if nothing is missing."""
