"""Commands (``/name arguments``) and input modes of extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.bus import RANKS, NamedRegistry, Owner
from pi.coding.extension_host.discovery.manifest import Manifest
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
    """A command as a manifest declares it; its extension may not be loaded yet."""

    name: str
    description: str = ""
    source: SourceInfo
    needs_run_here: bool = False
    """Whether it needs a session that runs in this process, not one that is only shown."""
    owner: Owner


class ExtensionCommand(DeclaredCommand):
    """A command with its handler, as the code of an extension registers it."""

    handler: CommandHandler
    completions: Completions | None = None
    context: Any


def declared_commands(
    manifest: Manifest, source: SourceInfo, owner: Owner
) -> list[DeclaredCommand]:
    """The commands of a manifest. Raises ``ExtensionError`` if a name is invalid."""
    return [
        DeclaredCommand(
            name=check_command_name(name),
            description=description,
            source=source,
            needs_run_here=name in manifest.needs_run_here,
            owner=owner,
        )
        for name, description in manifest.declared_commands().items()
    ]


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


def check_command_name(name: str) -> str:
    """Return ``name``. Raises ``ExtensionError`` unless it is one word that can be printed."""
    if not name or " " in name or not name.isprintable():
        raise ExtensionError(
            f"A command cannot be called {name!r}.", hint="Its name is one word, like `weather`."
        )
    return name


OWN = "pi:"
"""Prefix of bundled commands; ``/pi:NAME`` always calls the bundled one."""


class _OwnedCommand:
    """One name of one extension: its declaration, and what its code registered under the name."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.declared: DeclaredCommand | None = None
        self.registered: list[ExtensionCommand] = []

    @property
    def command(self) -> DeclaredCommand:
        """The last registration; the declaration until there is one."""
        if self.registered:
            return self.registered[-1]
        assert self.declared is not None, "rows without a command are dropped"
        return self.declared


class Commands:
    """All commands of extensions, one for each name and extension.

    A declaration and a registration of the same extension are the same command: the declaration
    is listed until the code has registered it. Commands of different extensions that share a name
    get numbers.

    A bundled command is listed as ``pi:NAME`` if another extension, a prompt template or a skill
    has its name. It can always be called by that name.
    """

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, str], _OwnedCommand] = {}
        """By the path of the extension, and name."""

    def add(self, command: ExtensionCommand) -> Callable[[], None]:
        """Add a registered command. Returns a function that removes it."""
        row = self._row(command)
        row.registered.append(command)

        def remove() -> None:
            row.registered = [other for other in row.registered if other is not command]
            self._drop_if_empty(row, command.name)

        return remove

    def declare(self, command: DeclaredCommand) -> Callable[[], None]:
        """Add a command of a manifest. Returns a function that removes it."""
        row = self._row(command)
        row.declared = command

        def remove() -> None:
            row.declared = None
            self._drop_if_empty(row, command.name)

        return remove

    def listed(self, reserved: Collection[str] = ()) -> list[tuple[str, DeclaredCommand]]:
        """Every command with its unique name; bundled ones come last.

        ``reserved`` are the names of prompt templates and skills.
        """
        return list(self._named_commands(reserved))

    def find(self, text: str, reserved: Collection[str] = ()) -> tuple[DeclaredCommand, str] | None:
        """The command that ``text`` calls, with its arguments; ``None`` if it calls none."""
        if not text.startswith("/"):
            return None
        name, arguments = split_command(text)
        by_name = dict(self._named_commands(reserved))
        if name in by_name:
            return by_name[name], arguments
        if name.startswith(OWN):
            bundled = [row.command for row in self._rows if _is_bundled(row)]
            matches = [command for command in bundled if command.name == name.removeprefix(OWN)]
            return (matches[-1], arguments) if matches else None
        # Without a number, the command of the highest rank wins.
        matches = [
            row.command for row in self._rows if row.command.name == name and not _is_bundled(row)
        ]
        return (matches[-1], arguments) if matches and name not in BUILT_IN else None

    def registered(self, path: str, name: str) -> ExtensionCommand | None:
        """The command that the code of an extension has registered."""
        row = self._by_key.get((path, name))
        return row.registered[-1] if row is not None and row.registered else None

    def of(self, path: str) -> list[str]:
        """The names of the commands of one extension."""
        return [name for owner_path, name in self._by_key if owner_path == path]

    def hidden(self) -> list[tuple[str, Owner]]:
        """Commands that a built-in command hides, with their owners."""
        return [(row.command.name, row.owner) for row in self._rows if row.command.name in BUILT_IN]

    @property
    def _rows(self) -> list[_OwnedCommand]:
        """All commands by rank and load order; those of an extension in the order it named them."""
        return sorted(
            self._by_key.values(), key=lambda row: (RANKS.index(row.owner.rank), row.owner.number)
        )

    def _row(self, command: DeclaredCommand) -> _OwnedCommand:
        key = (command.owner.path, command.name)
        return self._by_key.setdefault(key, _OwnedCommand(command.owner))

    def _drop_if_empty(self, row: _OwnedCommand, name: str) -> None:
        key = (row.owner.path, name)
        if not row.registered and row.declared is None and self._by_key.get(key) is row:
            del self._by_key[key]

    def _named_commands(self, reserved: Collection[str]) -> Iterator[tuple[str, DeclaredCommand]]:
        rows = [row for row in self._rows if row.command.name not in BUILT_IN]
        bundled = [row.command for row in rows if _is_bundled(row)]
        others = [row.command for row in rows if not _is_bundled(row)]
        yield from _number_duplicates(others)
        names = {command.name for command in others} | {*reserved}
        for name, command in _number_duplicates(bundled):
            yield f"{OWN}{name}" if command.name in names else name, command


def _is_bundled(row: _OwnedCommand) -> bool:
    return row.owner.rank == "bundled"


def _number_duplicates(
    commands: Sequence[DeclaredCommand],
) -> Iterator[tuple[str, DeclaredCommand]]:
    names = [command.name for command in commands]
    for index, command in enumerate(commands):
        name = command.name
        if names.count(name) > 1:
            name = f"{name}:{names[:index].count(name) + 1}"
        yield name, command


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
