"""Completion providers: commands, paths on disk, project files, and several combined."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from pathlib import Path

from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.tui.completion.provider import Completed, Provider, Suggestion, Suggestions, replace_prefix


class CombinedProvider:
    """Tries providers in order. The first one with suggestions also applies the chosen one."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self.replace(providers)

    def replace(self, providers: Sequence[Provider]) -> None:
        """Replace the providers."""
        self._providers = tuple(providers)
        self._last_provider: Provider | None = None

    @property
    def trigger_characters(self) -> str:
        """The trigger characters of all providers."""
        return "".join(provider.trigger_characters for provider in self._providers)

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the suggestions of the first provider that has any."""
        for provider in self._providers:
            if suggestions := await provider.get_suggestions(lines, row, col, force=force):
                self._last_provider = provider
                return suggestions
        return None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Apply a suggestion with the provider that returned it."""
        provider = self._last_provider or self._providers[0]
        return provider.apply_completion(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Return whether all providers allow Tab to complete here."""
        return all(
            provider.should_trigger_file_completion(lines, row, col) for provider in self._providers
        )


CompleteArguments = Callable[[str], Awaitable[Sequence[Suggestion]]]
"""Returns suggestions for the arguments of a command, given the typed part."""


class Command(Record):
    """A slash command that can be completed."""

    name: str
    description: str = ""
    hint: str = ""
    """A description of the arguments, e.g. ``<name>``."""
    complete: CompleteArguments | None = None


class CommandProvider:
    """Completes ``/name`` at the start of a message, and its arguments.

    Calls ``commands`` each time.
    """

    trigger_characters = "/"

    def __init__(self, commands: Callable[[], Sequence[Command]]) -> None:
        self._commands = commands

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the commands that match the typed name, or the arguments that match."""
        before = lines[row][:col]
        if row or not before.startswith("/"):
            return None
        name, blank, arguments = before[1:].partition(" ")
        if blank:
            return await self._arguments(name, arguments)
        if "/" in name:  # for example /tmp/x, which is a path
            return None
        commands = rank(name, self._commands(), key=lambda command: command.name)
        items = tuple(map(_command_suggestion, commands))
        return Suggestions(items=items, prefix=before) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Insert a command followed by a space, or arguments unchanged."""
        is_command = prefix.startswith("/") and len(prefix) == col
        rest = lines[row][col:]
        text = f"/{item.value}" if is_command else item.value
        done = replace_prefix(lines, row, col, prefix, text)
        if not is_command:
            return done
        if rest.startswith(" "):
            return Completed(lines=done.lines, row=row, col=done.col + 1)
        return replace_prefix(lines, row, col, prefix, text + " ")

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Return False while the name of a command is being typed."""
        before = lines[row][:col]
        return not (row == 0 and before.startswith("/") and not {" ", "/"} & set(before[1:]))

    async def _arguments(self, name: str, typed: str) -> Suggestions | None:
        for command in self._commands():
            if command.name == name and command.complete:
                items = tuple(await command.complete(typed))
                return Suggestions(items=items, prefix=typed) if items else None
        return None


def _command_suggestion(command: Command) -> Suggestion:
    description = " — ".join(filter(None, (command.hint, command.description)))
    return Suggestion(value=command.name, label=command.name, description=description)


_MENTION = re.compile(r"(?<![A-Za-z0-9._+-])@(?P<quote>\")?(?P<path>(?(quote)[^\"]*|[^\s\"]*))\Z")
"""An ``@`` that is not part of an e-mail address, and its path. Spaces need quotes."""

_QUOTED = re.compile(r"(?:^|(?<=[\s=(]))\"(?P<path>[^\"]*)\Z")
_BARE = re.compile(r"[^\s\"'=()<>|;&]*\Z")


class Token(Record):
    """A path as typed before the cursor."""

    raw: str
    """The typed text, which a suggestion replaces."""
    path: str
    mention: bool = False
    """Whether it starts with ``@``."""
    quoted: bool = False


def mention_before(text: str) -> Token | None:
    """Return the ``@path`` that ends at the cursor, or None."""
    match = _MENTION.search(text)
    if match is None:
        return None
    return Token(raw=match[0], path=match["path"], mention=True, quoted=bool(match["quote"]))


def path_before(text: str) -> Token:
    """Return the word or quoted path that ends at the cursor; it may be empty."""
    if quoted := _QUOTED.search(text):
        return Token(raw=quoted[0], path=quoted["path"], quoted=True)
    bare = _BARE.search(text)
    raw = bare[0] if bare else ""
    return Token(raw=raw, path=raw)


def written(path: str, token: Token) -> str:
    """Format a path to replace a token: with its ``@``, and quoted if necessary.

    The quotes of a directory stay open, so that the user can continue typing.
    """
    at_sign = "@" if token.mention else ""
    if not token.quoted and not re.search(r"[\s\"'=()<>|;&]", path):
        return at_sign + path
    return f'{at_sign}"{path}' if path.endswith("/") else f'{at_sign}"{path}"'


ListDirectory = Callable[[Path], Sequence[str]]
"""Lists the names in a directory; directories end in a slash. Blocks, and may raise."""

_MAX_PATHS = 200
_MAX_NAMES = 100_000
"""Names of one directory that are read."""


def list_directory(folder: Path) -> list[str]:
    """Return the names in a directory. A symbolic link to a directory counts as a directory."""
    with os.scandir(folder) as directory:
        entries = islice(directory, _MAX_NAMES)
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


class PathProvider:
    """Completes paths on disk on request, one directory at a time.

    Relative paths are resolved against ``cwd``, and ``~`` against ``home``.
    """

    trigger_characters = ""

    def __init__(
        self, cwd: Callable[[], Path], home: Path, *, listing: ListDirectory = list_directory
    ) -> None:
        self._cwd = cwd
        self._home = home
        self._listing = listing

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the matching names in the typed directory if completion was forced."""
        if not force:
            return None
        token = path_before(lines[row][:col])
        return await self.complete(token)

    async def complete(self, token: Token) -> Suggestions | None:
        """Return the matching names in the directory of a typed path, reading only that one."""
        folder, _, name = token.path.rpartition("/")
        typed_folder = f"{folder}/" if "/" in token.path else ""
        if token.path == "~":
            typed_folder, name = "~/", ""
        try:
            names = await asyncio.to_thread(self._matches, name, self._folder(typed_folder))
        except OSError:  # the directory is missing or not readable: no suggestions
            return None
        items = [
            Suggestion(value=written(typed_folder + path, token), label=path)
            for path in names[:_MAX_PATHS]
        ]
        return Suggestions(items=tuple(items), prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Replace the typed path."""
        return apply_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Always true."""
        return True

    def _matches(self, typed: str, folder: Path) -> list[str]:
        """Return the matching names. Runs in a thread, because a directory can be very large."""
        return _matches(typed, self._listing(folder))

    def _folder(self, typed_folder: str) -> Path:
        if typed_folder.startswith("~/"):
            return self._home / typed_folder[2:]
        return self._cwd() / typed_folder


def apply_path(
    lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
) -> Completed:
    """Replace the typed path. A closing quote behind the cursor is not duplicated."""
    line = lines[row]
    if '"' in item.value and line[col : col + 1] == '"':
        lines = [*lines[:row], line[:col] + line[col + 1 :], *lines[row + 1 :]]
    is_mention = prefix.startswith("@")
    is_folder = item.value.rstrip('"').endswith("/")
    text = item.value + (" " if is_mention and not is_folder else "")
    return replace_prefix(lines, row, col, prefix, text)


def _matches(typed: str, names: Sequence[str]) -> list[str]:
    """Return names with the typed prefix, otherwise fuzzy matches. Hidden names need a dot."""
    seen = [name for name in names if typed.startswith(".") or not name.startswith(".")]
    seen.sort(key=lambda name: (not name.endswith("/"), name.lower()))
    beginning = [name for name in seen if name.lower().startswith(typed.lower())]
    return beginning or rank(typed, seen)


ListFiles = Callable[[str], Awaitable[Sequence[str]]]
"""Lists files and directories below the working directory that may match a query.

Paths are relative and use slashes; a directory ends in a slash.
"""

_MAX_FILES = 50
_AT_ONCE = 1000
"""Files that are matched before the event loop runs again. A large project has 100 times more."""


class FileProvider:
    """Completes ``@`` followed by a few letters to any file of the project.

    For a path outside the project, only the typed directory is listed.
    """

    trigger_characters = "@"

    def __init__(self, files: ListFiles, paths: PathProvider) -> None:
        self._files = files
        self._paths = paths

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the files that match the text after ``@`` best."""
        token = mention_before(lines[row][:col])
        if token is None:
            return None
        if _leads_outside(token.path) or token.path.startswith("./"):
            return await self._paths.complete(token)
        folder = token.path if token.path.endswith("/") else None
        files = [path for path in await self._files(token.path) if path != folder]
        matches = await _best(token.path, files)
        items = tuple(_file_suggestion(path, token) for path in matches)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Replace the typed path. A space follows a file."""
        return apply_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Always true: Tab repeats an ``@`` request; other providers handle the rest."""
        return True


async def _best(query: str, files: Sequence[str]) -> list[str]:
    """Return the best matches in a stable order. Yields to the event loop between batches."""
    matches: list[str] = []
    for start in range(0, len(files), _AT_ONCE):
        matches += rank(query, files[start : start + _AT_ONCE])[:_MAX_FILES]
        await asyncio.sleep(0)
    return rank(query, matches)[:_MAX_FILES]


def _leads_outside(path: str) -> bool:
    return path.startswith(("/", "~", "..")) or "/../" in path


def _file_suggestion(path: str, token: Token) -> Suggestion:
    folder, _, name = path.rstrip("/").rpartition("/")
    slash = "/" if path.endswith("/") else ""
    return Suggestion(value=written(path, token), label=name + slash, description=folder)
