"""Commands of extensions: ``/name arguments``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from pi.base.records import Record
from pi.coding.bus import NamedRegistry, OrderedList, Owner
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.extensions import InputMode
from pi.coding.resources.sources import SourceInfo

CommandHandler: TypeAlias = Callable[[str, Any], Awaitable[Any] | Any]
"""Gets what follows the name, and a context."""
Completions: TypeAlias = Callable[[str], Awaitable[Sequence[str] | None] | Sequence[str] | None]
"""What an argument that begins like this could be."""

BUILT_IN = frozenset(
    {
        "settings",
        "model",
        "tree",
        "thinking",
        "scoped-models",
        "export",
        "import",
        "share",
        "bug",
        "copy",
        "name",
        "session",
        "changelog",
        "hotkeys",
        "fork",
        "clone",
        "trust",
        "login",
        "logout",
        "new",
        "compact",
        "resume",
        "reload",
        "quit",
        "debug",
    }
)
"""Commands of the original, which no extension can replace; all others of the screen yield."""


class DeclaredCommand(Record):
    """One command, as a manifest may declare it before its extension is loaded."""

    name: str
    description: str = ""
    source: SourceInfo


class ExtensionCommand(DeclaredCommand):
    """One command, and what it does."""

    handler: CommandHandler
    completions: Completions | None = None
    context: Any
    owner: Owner


C = TypeVar("C", bound=DeclaredCommand)


def split_command(text: str) -> tuple[str, str]:
    """The name behind the slash, and what follows it."""
    name = text[1:].split(maxsplit=1)[0] if text[1:2].strip() else ""
    return name, text[1 + len(name) :].strip()


class Commands(Generic[C]):
    """All commands. Those that share a name are told apart by numbers."""

    def __init__(self) -> None:
        self._rows: OrderedList[C] = OrderedList()

    def add(self, command: C, owner: Owner) -> Callable[[], None]:
        """Have one more command; gives what takes it away again."""
        return self._rows.add(command, owner)

    def listed(self) -> list[tuple[str, C]]:
        """Every command with the name that it can be called by; bundled ones come last."""
        return list(self._named())

    def find(self, text: str) -> tuple[C, str] | None:
        """The command that ``text`` calls, and its arguments; ``None`` if it calls none."""
        if not text.startswith("/"):
            return None
        name, arguments = split_command(text)
        by_name = dict(self._named())
        if name in by_name:
            return by_name[name], arguments
        # Of several the one that is nearest to the person counts when no number is said.
        same = [command for command in self._rows.values if command.name == name]
        return (same[-1], arguments) if same and name not in BUILT_IN else None

    def hidden(self) -> list[tuple[str, Owner]]:
        """Commands that a built-in one stands in front of, and whose they are."""
        return [(row.value.name, row.owner) for row in self._rows if row.value.name in BUILT_IN]

    def _named(self) -> Iterator[tuple[str, C]]:
        rows = [row for row in self._rows if row.value.name not in BUILT_IN]
        rows.sort(key=lambda row: row.owner.rank == "bundled")  # stable: others keep their order
        names = [row.value.name for row in rows]
        for place, row in enumerate(rows):
            name = row.value.name
            if names.count(name) > 1:
                name = f"{name}:{names[:place].count(name) + 1}"
            yield name, row.value


# Texts that go to an extension because of how they begin.


RESERVED = ("/", "!", "@")
"""What begins with these means something already."""


class RegisteredInputMode(Record):
    """A mode with its prefix, and what it is called with."""

    prefix: str
    mode: InputMode
    context: Any
    owner: Owner

    def text_of(self, text: str) -> str:
        """What stands behind the prefix."""
        return text.removeprefix(self.prefix).strip()


def checked_prefix(prefix: str) -> str:
    """``prefix``, if an extension may have it."""
    if not prefix or prefix.startswith(RESERVED) or prefix != prefix.strip():
        raise ExtensionError(
            f"No input mode can begin with {prefix!r}.",
            hint=f"Take a sign like $ that does not begin with {' or '.join(RESERVED)}.",
        )
    return prefix


def mode_of(modes: NamedRegistry[RegisteredInputMode], text: str) -> RegisteredInputMode | None:
    """The mode that takes ``text``: the longest prefix counts."""
    fitting = [prefix for prefix in modes.winners() if text.startswith(prefix)]
    return modes.get(max(fitting, key=len)) if fitting else None
