"""Questions to a completion provider: debounced, one at a time, never answered too late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Completed, Provider, Suggestion, Suggestions
from pi.tui.widgets.editor.buffer import Position

DEBOUNCE = 0.02
"""Seconds without another key before a provider is asked."""

Sleep = Callable[[float], Awaitable[None]]


class Completion:
    """Asks a provider in the background, one question at a time.

    A new question, or ``cancel``, ends the one before, so an answer that arrives is always for the
    text as it was when it was asked last.
    """

    def __init__(self, provider: Provider, tasks: TaskScope, sleep: Sleep) -> None:
        self._provider = provider
        self._tasks = tasks
        self._sleep = sleep
        self._question: asyncio.Task[None] | None = None

    def ask(
        self,
        lines: Sequence[str],
        cursor: Position,
        answered: Callable[[Suggestions | None], None],
        *,
        force: bool = False,
        now: bool = False,
    ) -> None:
        """Look for suggestions at a place: at once if ``now`` or forced, else after a pause."""
        self.cancel()
        wait = 0.0 if force or now else DEBOUNCE
        question = self._ask(tuple(lines), cursor, answered, force=force, wait=wait)
        self._question = self._tasks.start(question, name="completion")

    def cancel(self) -> None:
        """Want no answer any more."""
        if self._question is not None:
            self._question.cancel()
            self._question = None

    @property
    def is_asking(self) -> bool:
        """Whether an answer is still to come."""
        return self._question is not None

    def is_wanted(self, lines: Sequence[str], cursor: Position) -> bool:
        """Whether what stands before the cursor asks for suggestions by itself."""
        before = lines[cursor.row][: cursor.col]
        triggers = self._provider.trigger_characters
        if "/" in triggers and cursor.row == 0 and before.startswith("/"):
            return True  # a command, or its arguments
        word = before.rpartition(" ")[2] if '"' not in before else before
        return any(trigger in word for trigger in triggers if trigger != "/")

    def completes_files(self, lines: Sequence[str], cursor: Position) -> bool:
        """Whether Tab asks for files here."""
        return self._provider.should_trigger_file_completion(lines, *cursor)

    def take(
        self, lines: Sequence[str], cursor: Position, item: Suggestion, prefix: str
    ) -> Completed:
        """The text with a suggestion in it."""
        return self._provider.apply_completion(lines, *cursor, item, prefix)

    async def _ask(
        self,
        lines: tuple[str, ...],
        cursor: Position,
        answered: Callable[[Suggestions | None], None],
        *,
        force: bool,
        wait: float,
    ) -> None:
        if wait:
            await self._sleep(wait)
        found = await self._provider.get_suggestions(lines, *cursor, force=force)
        self._question = None
        answered(found if found and found.items else None)
