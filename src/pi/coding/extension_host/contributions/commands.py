"""Commands (``/name arguments``) and input modes of extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.bus import NamedRegistry, OrderedList, Owner, Registered
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.extensions import InputMode
from pi.coding.resources.sources import SourceInfo

CommandHandler: TypeAlias = Callable[[str, Any], Awaitable[Any] | Any]
"""Gets the arguments and a context."""
Completions: TypeAlias = Callable[[str], Awaitable[Sequence[str] | None] | Sequence[str] | None]
"""Returns completions of a partly typed argument."""

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
"""Commands of the original pi; extensions cannot replace them, unlike other built-in commands."""


class DeclaredCommand(Record):
    """A command as a manifest declares it, before its extension is loaded."""

    name: str
    description: str = ""
    source: SourceInfo
    needs_run_here: bool = False
    """Whether it needs a session that runs in this process, not one that is only shown."""


class ExtensionCommand(DeclaredCommand):
    """A command with its handler."""

    handler: CommandHandler
    completions: Completions | None = None
    context: Any
    owner: Owner


C = TypeVar("C", bound=DeclaredCommand)


def split_words(arguments: str, *, usage: str) -> list[str]:
    """The words of a command, split as a shell does. Raises ``PiError`` with the usage as hint."""
    import shlex  # deferred: not needed at start

    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise PiError(f"{error}.", hint=usage) from error


def split_command(text: str) -> tuple[str, str]:
    """The command name after the slash, and its arguments."""
    name = text[1:].split(maxsplit=1)[0] if text[1:2].strip() else ""
    return name, text[1 + len(name) :].strip()


def is_command_name(name: str) -> bool:
    """Whether a command can have that name: one word, without control characters."""
    return bool(name) and " " not in name and name.isprintable()


OWN = "pi:"
"""Prefix of bundled commands; ``/pi:NAME`` always calls the bundled one."""


class Commands(Generic[C]):
    """All commands. Commands that share a name get numbers.

    A bundled command is listed as ``pi:NAME`` if another extension, a prompt template or a skill
    has its name. It can always be called by that name.
    """

    def __init__(self) -> None:
        self._registered: OrderedList[C] = OrderedList()
        self._waiting: list[Callable[[], None]] = []
        self.add = self._registered.add
        """Adds a command of an owner. Returns a function that removes it."""
        self.add_later = self._waiting.append
        """Adds a function that adds commands; called before commands or flags are next read."""

    def add_waiting(self) -> None:
        """Call the functions of ``add_later``."""
        while self._waiting:
            self._waiting.pop(0)()

    @property
    def _rows(self) -> OrderedList[C]:
        self.add_waiting()
        return self._registered

    def listed(self, reserved: Collection[str] = ()) -> list[tuple[str, C]]:
        """Every command with its unique name; bundled ones come last.

        ``reserved`` are the names of prompt templates and skills.
        """
        return list(self._named(reserved))

    def find(self, text: str, reserved: Collection[str] = ()) -> tuple[C, str] | None:
        """The command that ``text`` calls, with its arguments; ``None`` if it calls none."""
        if not text.startswith("/"):
            return None
        name, arguments = split_command(text)
        by_name = dict(self._named(reserved))
        if name in by_name:
            return by_name[name], arguments
        if name.startswith(OWN):
            own = [row.value for row in self._rows if _is_bundled(row)]
            found = [command for command in own if command.name == name.removeprefix(OWN)]
            return (found[-1], arguments) if found else None
        # Without a number, the command of the highest rank wins.
        same = [row.value for row in self._rows if row.value.name == name and not _is_bundled(row)]
        return (same[-1], arguments) if same and name not in BUILT_IN else None

    def get(self, path: str, name: str) -> C | None:
        """The command of one extension, whether or not others have the same name."""
        rows = (row for row in self._rows if row.owner.path == path and row.value.name == name)
        return next((row.value for row in rows), None)

    def of(self, path: str) -> list[str]:
        """The names of the commands of one extension."""
        return [row.value.name for row in self._rows if row.owner.path == path]

    def hidden(self) -> list[tuple[str, Owner]]:
        """Commands that a built-in command hides, with their owners."""
        return [(row.value.name, row.owner) for row in self._rows if row.value.name in BUILT_IN]

    def _named(self, reserved: Collection[str]) -> Iterator[tuple[str, C]]:
        rows = [row for row in self._rows if row.value.name not in BUILT_IN]
        own = [row for row in rows if _is_bundled(row)]
        others = [row for row in rows if not _is_bundled(row)]
        yield from _numbered(others)
        names = {row.value.name for row in others} | {*reserved}
        for name, command in _numbered(own):
            yield f"{OWN}{name}" if command.name in names else name, command


def _is_bundled(row: Registered[Any]) -> bool:
    return row.owner.rank == "bundled"


def _numbered(rows: Sequence[Registered[C]]) -> Iterator[tuple[str, C]]:
    names = [row.value.name for row in rows]
    for place, row in enumerate(rows):
        name = row.value.name
        if names.count(name) > 1:
            name = f"{name}:{names[:place].count(name) + 1}"
        yield name, row.value


RESERVED = ("/", "!", "@")
"""Prefixes that already have a meaning."""


class RegisteredInputMode(Record):
    """An input mode with its prefix and context."""

    prefix: str
    mode: InputMode
    context: Any
    owner: Owner

    def text_of(self, text: str) -> str:
        """The text after the prefix."""
        return text.removeprefix(self.prefix).strip()


def check_prefix(prefix: str) -> str:
    """Return ``prefix``. Raises ``ExtensionError`` if an extension must not use it."""
    if not prefix or prefix.startswith(RESERVED) or prefix != prefix.strip():
        raise ExtensionError(
            f"Invalid prefix for an input mode: {prefix!r}.",
            hint=f"Use a prefix like $ that does not start with {' or '.join(RESERVED)}.",
        )
    return prefix


def mode_of(modes: NamedRegistry[RegisteredInputMode], text: str) -> RegisteredInputMode | None:
    """The mode for ``text``: the longest prefix wins."""
    matching = [prefix for prefix in modes.winners() if text.startswith(prefix)]
    return modes.get(max(matching, key=len)) if matching else None
