"""What the editor suggests: commands, files of the project, paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi.coding.runtime.host import Host
from pi.coding.tools.file_listing import FileListing
from pi.coding.tools.programs import SearchPrograms
from pi.modes.interactive.composer.files import ProjectFiles
from pi.modes.interactive.composer.references import ReferenceProvider
from pi.modes.interactive.ui import Commands
from pi.tui.completion.combined import CombinedProvider
from pi.tui.completion.commands import Command, CommandProvider, CompleteArguments
from pi.tui.completion.files import FileProvider
from pi.tui.completion.paths import PathProvider
from pi.tui.completion.provider import Suggestion

if TYPE_CHECKING:
    from pi.coding.runtime.port import SessionPort

MOST_FILES = 200_000
"""Paths of a project that are offered; more would take long to rank with every key."""
SILENCE = 3.0
"""Seconds after which another way of listing files is tried: somebody waits for the list."""


def suggestions(
    port: SessionPort, host: Host, commands: Commands, cwd: Callable[[], Path]
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
