"""Completion sources of the editor: commands, project files, paths, references."""

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


# Project files ------------------------------------------------------------------------------------


FRESH_SECONDS = 10.0

ListBelow = Callable[[Path], Awaitable[Sequence[str]]]
"""Lists everything below a folder that is not ignored, relative to it."""


class ProjectFiles:
    """Files offered after ``@``. Cached for ``FRESH_SECONDS``: not every key lists them again."""

    def __init__(
        self, below: ListBelow, cwd: Callable[[], Path], monotonic: Callable[[], float]
    ) -> None:
        self._below = below
        self._cwd = cwd
        self._monotonic = monotonic
        self._listed: tuple[Path, float, Sequence[str]] | None = None

    async def __call__(self, query: str) -> Sequence[str]:
        """Return everything below the working directory, shallow paths first."""
        cwd, now = self._cwd(), self._monotonic()
        if self._listed is not None:
            folder, when, files = self._listed
            if folder == cwd and now - when < FRESH_SECONDS:
                return files
        try:
            files = await asyncio.to_thread(sorted, await self._below(cwd), key=_nearness)
        except PiError:  # the folder or the listing program is missing: offer nothing
            files = ()
        self._listed = (cwd, now, files)
        return files


def _nearness(path: str) -> tuple[int, bool, str]:
    """Sort key: shallow, visible and alphabetical paths first."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return folder.count("/") + bool(folder), name.startswith("."), path.lower()


# References of extensions -------------------------------------------------------------------------


Complete: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Completes a partly typed reference."""

_MAX = 50


class ReferenceProvider:
    """Completes references of extensions such as ``rule://``, with or without a leading ``@``."""

    trigger_characters = ""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the completions of the extension that owns the reference, best first."""
        before = lines[row][:col]
        token = mention_before(before) or path_before(before)
        if ":" not in token.path:  # every reference contains it
            return None
        matches = rank(token.path, await self._complete(token.path))[:_MAX]
        items = tuple(Suggestion(value=written(path, token), label=path) for path in matches)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Replace the typed part with the reference."""
        return replace_prefix(lines, row, col, prefix, item.value)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Always true: other text is left to other providers."""
        return True


# Providers of a session ---------------------------------------------------------------------------

MAX_FILES = 200_000
"""Maximum number of offered paths; ranking more on every key is slow."""
SILENCE = 3.0
"""Seconds until another way of listing files is tried."""


def suggestions(
    port: SessionPort, host: Machine, commands: Commands, cwd: Callable[[], Path]
) -> CombinedProvider:
    """Return the provider of everything that can be completed in a session."""
    programs = SearchPrograms(lambda: host.environ)
    listing = FileListing(programs, home=host.home, silence=SILENCE)
    paths = PathProvider(cwd, host.home)
    files = FileProvider(
        ProjectFiles(partial(listing.below, most=MAX_FILES), cwd, host.clock.monotonic), paths
    )
    command_provider = CommandProvider(lambda: _commands(port, commands))
    references = ReferenceProvider(port.extensions.references)
    return CombinedProvider([command_provider, references, files, paths])


def _commands(port: SessionPort, built_in: Commands) -> Sequence[Command]:
    """Built-in commands first, then those of the session."""
    own = list(built_in.listed())
    own_names = {command.name for command in own}
    with_skills = port.settings.values.enable_skill_commands
    return own + [
        Command(
            name=command.name,
            description=command.description or "",
            complete=_argument_completer(port, command.name)
            if command.source == "extension"
            else None,
        )
        for command in port.info.commands()
        if command.name not in own_names and (with_skills or command.source != "skill")
    ]


def _argument_completer(port: SessionPort, command: str) -> CompleteArguments:
    """Return a function with which an extension completes the arguments of its command."""

    async def complete(typed: str) -> list[Suggestion]:
        return [
            Suggestion(value=word) for word in await port.extensions.completions(command, typed)
        ]

    return complete
