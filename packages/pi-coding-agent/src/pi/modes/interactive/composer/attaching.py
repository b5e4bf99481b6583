"""Chips above the editor: the files that mentions in the text attach."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.mentions import Attachment
from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.text.wrap import wrap_text

PAUSE = 0.15
"""Seconds without a key before files are read."""
MAX_ROWS = 3


class AttachmentChips(CachedWidget):
    """A few rows with one chip per attachment; none without attachments."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._attachments: Sequence[Attachment] = ()

    def set(self, attachments: Sequence[Attachment]) -> bool:
        """Show attachments; returns whether they differ from those before."""
        if attachments == self._attachments:
            return False
        self._attachments = attachments
        self.invalidate()
        return True

    def _draw(self, width: int) -> list[str]:
        muted, warning = self._theme.paint("muted"), self._theme.paint("warning")
        chips = [
            (warning if attachment.problem else muted)(
                f"[@{one_line(attachment.path)} · {attachment.chip}]"
            )
            for attachment in self._attachments
        ]
        rows = wrap_text(" ".join(chips), max(width - 2, 1)) if chips else []
        return [f" {row}" for row in rows[:MAX_ROWS]]


class AttachmentWatcher:
    """Shows the attachments of a text, once the user pauses. ``look`` finds them in a thread.

    ``is_on`` returns whether mentions attach anything.
    """

    def __init__(
        self,
        chips: AttachmentChips,
        *,
        is_on: Callable[[], bool],
        look: Callable[[str], Sequence[Attachment]],
        clock: Clock,
        tasks: TaskScope,
        request_render: Callable[[], None],
    ) -> None:
        self._chips = chips
        self._is_on = is_on
        self._look = look
        self._clock = clock
        self._tasks = tasks
        self._request_render = request_render
        self._task: asyncio.Task[None] | None = None

    def text_changed(self, text: str) -> None:
        """Schedule a new search; without a mention, remove the chips."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if "@" in text and self._is_on():
            self._task = self._tasks.start(self._find(text), name="looking for attachments")
        elif self._chips.set(()):
            self._request_render()

    async def _find(self, text: str) -> None:
        await self._clock.sleep(PAUSE)
        attachments = await asyncio.to_thread(self._look, text)
        if self._chips.set(tuple(attachments)):
            self._request_render()
