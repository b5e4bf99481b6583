"""What the editor suggests: commands, files of the project, paths."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.coding.runtime.machine import Machine
from pi.coding.tools.listing import FileListing
from pi.coding.tools.programs import SearchPrograms
from pi.modes.interactive.ui import Commands
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix
from pi.tui.completion.sources import (
    CombinedProvider,
    Command,
    CommandProvider,
    CompleteArguments,
    FileProvider,
    PathProvider,
    mention_before,
    path_before,
    written,
)

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


# The files that ``@`` offers: listed once, and again when the list has grown old.


FRESH_SECONDS = 10.0

ListBelow = Callable[[Path], Awaitable[Sequence[str]]]
"""All that is below a folder and not ignored, relative to it."""


class ProjectFiles:
    """Answers from memory while a list is fresh, so that typing on costs nothing."""

    def __init__(
        self, below: ListBelow, cwd: Callable[[], Path], monotonic: Callable[[], float]
    ) -> None:
        self._below = below
        self._cwd = cwd
        self._monotonic = monotonic
        self._listed: tuple[Path, float, Sequence[str]] | None = None

    async def __call__(self, query: str) -> Sequence[str]:
        """Everything below the working directory, whatever the query, what is near first."""
        cwd, now = self._cwd(), self._monotonic()
        if self._listed is not None:
            where, when, files = self._listed
            if where == cwd and now - when < FRESH_SECONDS:
                return files
        try:
            files = await asyncio.to_thread(sorted, await self._below(cwd), key=_nearness)
        except PiError:  # the folder is gone, or the program that lists it: no reason to interrupt
            files = ()
        self._listed = (cwd, now, files)
        return files


def _nearness(path: str) -> tuple[int, bool, str]:
    """Less for what is not deep in folders, not hidden, and early in the alphabet."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return folder.count("/") + bool(folder), name.startswith("."), path.lower()


# ``rule://`` and what else extensions can read: how it may go on.


Complete: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""How a reference may go on of which something was typed."""

_MOST = 50


class ReferenceProvider:
    """Completes references of extensions, with an ``@`` before them or without."""

    trigger_characters = ""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """What the extension that reads such a reference knows."""
        before = lines[row][:col]
        token = mention_before(before) or path_before(before)
        if ":" not in token.path:  # as every reference has
            return None
        found = rank(token.path, await self._complete(token.path))[:_MOST]
        items = tuple(Suggestion(value=written(path, token), label=path) for path in found)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The reference in place of what was typed of it."""
        return replace_prefix(lines, row, col, prefix, item.value)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere: what is no reference is left to other providers."""
        return True


MOST_FILES = 200_000
"""Paths of a project that are offered; more would take long to rank with every key."""
SILENCE = 3.0
"""Seconds after which another way of listing files is tried: somebody waits for the list."""


def suggestions(
    port: SessionPort, host: Machine, commands: Commands, cwd: Callable[[], Path]
) -> CombinedProvider:
    """Everything that can be completed in a session."""
    programs = SearchPrograms(lambda: host.environ)
    listing = FileListing(programs, home=host.home, silence=SILENCE)
    paths = PathProvider(cwd, host.home)
    files = FileProvider(
        ProjectFiles(partial(listing.below, most=MOST_FILES), cwd, host.clock.monotonic), paths
    )
    known = CommandProvider(lambda: _commands(port, commands))
    references = ReferenceProvider(port.extensions.references)
    return CombinedProvider([known, references, files, paths])


def _commands(port: SessionPort, built_in: Commands) -> Sequence[Command]:
    """Those of the application first, then those of the session."""
    own = list(built_in.listed())
    known = {command.name for command in own}
    with_skills = port.settings.values.enable_skill_commands
    return own + [
        Command(
            name=command.name,
            description=command.description or "",
            complete=_completing(port, command.name) if command.source == "extension" else None,
        )
        for command in port.facts.commands()
        if command.name not in known and (with_skills or command.source != "skill")
    ]


def _completing(port: SessionPort, command: str) -> CompleteArguments:
    """Asks an extension what the arguments of its command could be."""

    async def complete(typed: str) -> list[Suggestion]:
        return [
            Suggestion(value=word) for word in await port.extensions.completions(command, typed)
        ]

    return complete
