"""Slash commands at the start of a message, and their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix

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
        items = tuple(map(_suggestion, found))
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


def _suggestion(command: Command) -> Suggestion:
    description = " — ".join(filter(None, (command.hint, command.description)))
    return Suggestion(value=command.name, label=command.name, description=description)
