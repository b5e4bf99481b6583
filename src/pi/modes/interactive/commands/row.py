"""What is known of a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from pi.base.records import Record
from pi.modes.interactive.ui import Ui
from pi.tui.completion.provider import Suggestion

Handler: TypeAlias = Callable[[Ui, str], Awaitable[None]]
"""Runs a command with what was typed behind its name; a ``PiError`` is told in one line."""

Complete: TypeAlias = Callable[[Ui], Sequence[str] | Sequence[Suggestion]]
"""What the argument could be."""


class CommandRow(Record):
    """One command of the application."""

    name: str
    description: str
    run: Handler | None = None
    hint: str = ""
    """What may follow the name, e.g. ``[path]``."""
    complete: Complete | None = None
    listed: bool = True
    """Whether the menu shows it."""
    prompt: str = ""
    """A prompt for the model that the command stands for, in place of ``run``."""
    yields: bool = False
    """Whether a command of the same name of the user or of an extension takes its place."""
    needs_run_here: bool = False
    """Whether only whoever runs the session can do it, not somebody to whom it is shown."""

    def is_offered(self, ui: Ui) -> bool:
        """Whether the menu shows it in the session that there is."""
        return self.listed and (not self.needs_run_here or ui.port.facts.runs_here)
