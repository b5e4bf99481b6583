"""Several providers as one: the first that has an answer gives it."""

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
    """Asks providers in turn, and lets the one that answered apply what was chosen."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self._providers = tuple(providers)
        self._answered: Provider | None = None

    @property
    def trigger_characters(self) -> str:
        """Those of all providers."""
        return "".join(provider.trigger_characters for provider in self._providers)

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """The first answer."""
        for provider in self._providers:
            if found := await provider.get_suggestions(lines, row, col, force=force):
                self._answered = provider
                return found
        return None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """What the provider that answered last makes of its suggestion."""
        provider = self._answered or self._providers[0]
        return provider.apply_completion(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Whether all providers agree that Tab completes here."""
        return all(
            provider.should_trigger_file_completion(lines, row, col) for provider in self._providers
        )


# Slash commands at the start of a message, and their arguments.


CompleteArguments = Callable[[str], Awaitable[Sequence[Suggestion]]]
"""What the arguments of a command could become, given what is typed of them."""


class Command(Record):
    """A command that can be completed."""

    name: str
    description: str = ""
    hint: str = ""
    """What its arguments are, e.g. ``<name>``."""
    complete: CompleteArguments | None = None


class CommandProvider:
    """Completes ``/name`` and what follows it. ``commands`` is asked each time."""

    trigger_characters = "/"

    def __init__(self, commands: Callable[[], Sequence[Command]]) -> None:
        self._commands = commands

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Commands that fit the letters after the slash, or arguments that fit what is typed."""
        before = lines[row][:col]
        if row or not before.startswith("/"):
            return None
        name, blank, arguments = before[1:].partition(" ")
        if blank:
            return await self._arguments(name, arguments)
        if "/" in name:  # /tmp/x is a path
            return None
        found = rank(name, self._commands(), key=lambda command: command.name)
        items = tuple(map(_command_suggestion, found))
        return Suggestions(items=items, prefix=before) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The command with a blank behind it, or the arguments as they are."""
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
        """Not while the name of a command is typed."""
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


# The path that is being typed before the cursor.


_MENTION = re.compile(r"(?<![A-Za-z0-9._+-])@(?P<quote>\")?(?P<path>(?(quote)[^\"]*|[^\s\"]*))\Z")
"""An ``@`` that is no part of an address, and what follows; blanks only inside quotes."""

_QUOTED = re.compile(r"(?:^|(?<=[\s=(]))\"(?P<path>[^\"]*)\Z")
_BARE = re.compile(r"[^\s\"'=()<>|;&]*\Z")


class Token(Record):
    """A path as it is typed."""

    raw: str
    """All that stands for it, to be replaced."""
    path: str
    mention: bool = False
    """Whether it follows an ``@``."""
    quoted: bool = False


def mention_before(text: str) -> Token | None:
    """The ``@path`` that ends at the cursor, if there is one."""
    found = _MENTION.search(text)
    if found is None:
        return None
    return Token(raw=found[0], path=found["path"], mention=True, quoted=bool(found["quote"]))


def path_before(text: str) -> Token:
    """The word or quoted path that ends at the cursor, perhaps empty."""
    if quoted := _QUOTED.search(text):
        return Token(raw=quoted[0], path=quoted["path"], quoted=True)
    bare = _BARE.search(text)
    raw = bare[0] if bare else ""
    return Token(raw=raw, path=raw)


def written(path: str, token: Token) -> str:
    """How a path is written in place of a token: with its ``@``, and in quotes if need be.

    The path of a directory, which may be typed on, keeps its quotes open.
    """
    at = "@" if token.mention else ""
    if not token.quoted and not re.search(r"[\s\"'=()<>|;&]", path):
        return at + path
    return f'{at}"{path}' if path.endswith("/") else f'{at}"{path}"'


# Paths on disk, one directory at a time.


ListDirectory = Callable[[Path], Sequence[str]]
"""The names in a directory, those of directories with a slash behind; blocking, may raise."""

_MAX_PATHS = 200
_MAX_NAMES = 100_000
"""Names of a directory that are looked at."""


def list_directory(folder: Path) -> list[str]:
    """The names in a directory; a symbolic link to a directory counts as one."""
    with os.scandir(folder) as found:
        entries = islice(found, _MAX_NAMES)
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


class PathProvider:
    """Completes paths when asked. Relative ones are below ``cwd``; ``~`` is ``home``."""

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
        """What is in the directory that is typed, if it was asked for."""
        if not force:
            return None
        token = path_before(lines[row][:col])
        return await self.complete(token)

    async def complete(self, token: Token) -> Suggestions | None:
        """What is in the directory of a path that is typed; only that directory is read."""
        folder, _, name = token.path.rpartition("/")
        shown = f"{folder}/" if "/" in token.path else ""
        if token.path == "~":
            shown, name = "~/", ""
        try:
            found = await asyncio.to_thread(self._fitting, name, self._folder(shown))
        except OSError:  # not there, or not ours to read: there is nothing to suggest
            return None
        items = [
            Suggestion(value=written(shown + path, token), label=path)
            for path in found[:_MAX_PATHS]
        ]
        return Suggestions(items=tuple(items), prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The path in place of what was typed of it."""
        return take_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere."""
        return True

    def _fitting(self, typed: str, folder: Path) -> list[str]:
        """What fits in a directory; in a thread, as a directory can have very many names."""
        return _fitting(typed, self._listing(folder))

    def _folder(self, shown: str) -> Path:
        if shown.startswith("~/"):
            return self._home / shown[2:]
        return self._cwd() / shown


def take_path(lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str) -> Completed:
    """A path in place of what was typed of it; a quote that stands behind is not doubled."""
    line = lines[row]
    if '"' in item.value and line[col : col + 1] == '"':
        lines = [*lines[:row], line[:col] + line[col + 1 :], *lines[row + 1 :]]
    is_mention = prefix.startswith("@")
    is_folder = item.value.rstrip('"').endswith("/")
    text = item.value + (" " if is_mention and not is_folder else "")
    return replace_prefix(lines, row, col, prefix, text)


def _fitting(typed: str, names: Sequence[str]) -> list[str]:
    """Names that begin with what is typed, else those that fit it; hidden ones only by a dot."""
    seen = [name for name in names if typed.startswith(".") or not name.startswith(".")]
    seen.sort(key=lambda name: (not name.endswith("/"), name.lower()))
    beginning = [name for name in seen if name.lower().startswith(typed.lower())]
    return beginning or rank(typed, seen)


# ``@`` and a few letters: files of the project, wherever they are.


ListFiles = Callable[[str], Awaitable[Sequence[str]]]
"""Files and directories below the working directory that may fit a query.

Paths are relative, with slashes; a directory ends in one.
"""

_MAX_FILES = 50
_AT_ONCE = 1000
"""Files that are looked at before keys are: in a large project there are a hundred times more."""


class FileProvider:
    """Completes ``@path``. Outside the project only the directory that is typed is looked into."""

    trigger_characters = "@"

    def __init__(self, files: ListFiles, paths: PathProvider) -> None:
        self._files = files
        self._paths = paths

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """The files that fit the letters behind the ``@`` best."""
        token = mention_before(lines[row][:col])
        if token is None:
            return None
        if _leads_outside(token.path) or token.path.startswith("./"):
            return await self._paths.complete(token)
        folder = token.path if token.path.endswith("/") else None
        files = [path for path in await self._files(token.path) if path != folder]
        found = await _best(token.path, files)
        items = tuple(_file_suggestion(path, token) for path in found)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The path in place of what was typed of it, with a blank behind a file."""
        return take_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere: behind an ``@`` Tab asks again, elsewhere other providers answer."""
        return True


async def _best(query: str, files: Sequence[str]) -> list[str]:
    """The files that fit best, equals in their order; typing goes on meanwhile."""
    found: list[str] = []
    for start in range(0, len(files), _AT_ONCE):
        found += rank(query, files[start : start + _AT_ONCE])[:_MAX_FILES]
        await asyncio.sleep(0)
    return rank(query, found)[:_MAX_FILES]


def _leads_outside(path: str) -> bool:
    return path.startswith(("/", "~", "..")) or "/../" in path


def _file_suggestion(path: str, token: Token) -> Suggestion:
    folder, _, name = path.rstrip("/").rpartition("/")
    slash = "/" if path.endswith("/") else ""
    return Suggestion(value=written(path, token), label=name + slash, description=folder)
