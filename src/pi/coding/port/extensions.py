"""What modes give to extensions, and get from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pi.base.records import Record

if TYPE_CHECKING:
    from pi.coding.port.ui import ExtensionUI, Mode


class InputMode(Record):
    """What texts with a prefix are, and who takes them."""

    label: str
    """Shown at the editor while such a text is written."""
    run: Callable[[str, Any], Any]
    """``run(text, ctx)``, sync or async: given the text behind the prefix when it is sent."""
    colour: str = "bashMode"
    """Of the editor's border, by its name in the theme."""


Sink: TypeAlias = Literal["log", "export", "share"]


class NameConflict(Record):
    """Something that was registered and does not count."""

    kind: str
    name: str
    loser: str
    """Where the extension is that registered it."""
    winner: str
    """Where the one is that has the name; ``pi`` if it is built in."""


ViewKind: TypeAlias = Literal["tool", "message", "entry", "status"]


class ViewOptions(Record):
    """How something is to be drawn."""

    expanded: bool = False
    """Whether the person wants to see everything."""
    output_pad: int = 0
    """Columns that are free at the left of texts."""


class ExtensionViews(Protocol):
    """Renderers that extensions have registered."""

    def has(self, kind: ViewKind, name: str) -> bool:
        """Whether an extension renders this."""
        ...

    def has_any(self, kind: ViewKind) -> bool:
        """Whether an extension renders anything of this kind."""
        ...

    def rows(
        self, kind: ViewKind, name: str, thing: object, options: ViewOptions, theme: Any, width: int
    ) -> list[str] | None:
        """Rows that an extension renders; ``None`` if none does."""
        ...

    def markdown(self, text: str, about: Mapping[str, Any]) -> str:
        """Markdown after the transforms of all extensions."""
        ...


class ExtensionsPort(Protocol):
    """What modes give to extensions, and get from them."""

    def attach(self, ui: ExtensionUI, mode: Mode) -> None:
        """Let extensions reach the person; before the session is started."""
        ...

    def infos(self) -> Sequence[ExtensionInfo]:
        """Every extension that was found."""
        ...

    def clashes(self) -> Sequence[NameConflict]:
        """What extensions have registered under names that count for somebody else."""
        ...

    def foreign(self) -> Sequence[str]:
        """Files that only the original can run."""
        ...

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        ...

    def shortcuts(self) -> Mapping[str, str]:
        """Keys that extensions want, with what they do."""
        ...

    async def press(self, key: str) -> bool:
        """Do what a key of an extension does; False if no extension wants it."""
        ...

    @property
    def views(self) -> ExtensionViews:
        """Draws tools, messages, entries and statuses."""
        ...

    def input_mode(self, text: str) -> InputMode | None:
        """What takes a text that begins so, if an extension does."""
        ...

    async def take(self, text: str) -> bool:
        """Give a text to the extension that takes it; False if none does."""
        ...

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as extensions let it leave the program."""
        ...

    def on_moved(self, moved: Callable[[], None], reloaded: Callable[[], None]) -> None:
        """Have ``moved`` called when another session or branch is to be shown than before.

        ``reloaded`` is called when it is the same one, but with other extensions.
        """
        ...

    def markdown(self, text: str, **about: Any) -> str:
        """Markdown as extensions want it drawn."""
        ...

    async def completions(self, command: str, prefix: str) -> Sequence[str]:
        """What an argument of a command could be."""
        ...

    async def references(self, typed: str) -> Sequence[str]:
        """How a reference like ``rule://`` may go on of which this was typed."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...

    async def shutdown_wanted(self) -> None:
        """Until an extension asks the program to end."""
        ...


class ExtensionInfo(Record):
    """What is known of one extension, for lists and ``--verbose``."""

    name: str
    path: str
    rank: str
    source: str = ""
    """The package that it is from, or how else it was found."""
    state: Literal["waiting", "loaded", "failed"] = "waiting"
    """``waiting`` until something happens that its manifest names, or if it is for other modes."""
    milliseconds: float = 0.0
    """What loading it took."""
    problem: str = ""
    """Why it could not be loaded."""
