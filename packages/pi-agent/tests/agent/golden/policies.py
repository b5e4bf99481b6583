"""Small policies that act and publish events as a session does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from pi.agent.conversation import MemoryConversation
from pi.agent.policy import Boundary, Draft, Next, Policy
from pi.ai.errors import ContextOverflow, ProviderError
from pi.ai.messages import Json

Publish = Callable[[Json], None]

FORGET: Json = {"type": "context_edit", "replacement": None}
"""Removes the last answer from the context of the model."""


class Log(MemoryConversation):
    """A log with entries beside messages, which it publishes."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Json] = []

    def add(self, draft: Draft) -> Json | None:
        """Keep an entry."""
        self.entries.append(draft)
        return dict(draft)


class Retry(Policy):
    """Retries a retryable failure in a new run."""

    def __init__(
        self,
        log: Log,
        publish: Publish,
        *,
        worth_it: Callable[[ProviderError], bool] = lambda error: error.retryable,
        waits: asyncio.Event | None = None,
    ) -> None:
        self._log = log
        self._publish = publish
        self._worth_it = worth_it
        self._waits = waits
        self._attempt = 0

    async def at_boundary(self, at: Boundary) -> Next:
        """After a turn: count the attempt, and publish the success."""
        if at.kind != "turn" or at.next.claimed:
            return at.next
        if at.error is not None and self._worth_it(at.error):
            self._attempt += 1
            return Next(action="again", new_run=True, prepare=self._wait)
        if at.outcome == "completed" and self._attempt:
            self._publish({"type": "auto_retry_end", "success": True, "attempt": self._attempt})
            self._attempt = 0
        return at.next

    async def _wait(self) -> None:
        self._publish({"type": "auto_retry_start", "attempt": self._attempt})
        self._publish({"type": "entry_appended", "entry": self._log.add(FORGET)})
        try:
            if self._waits is not None and self._attempt > 1:
                self._waits.set()
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._publish({"type": "auto_retry_end", "success": False, "attempt": self._attempt})
            raise


class Compaction(Policy):
    """Shortens the context of the model on overflow or above the threshold."""

    def __init__(self, publish: Publish, *, little_room: bool = False) -> None:
        self._publish = publish
        self._little_room = little_room

    async def at_boundary(self, at: Boundary) -> Next:
        """When a run has ended."""
        if at.kind != "settle":
            return at.next
        if isinstance(at.error, ContextOverflow):
            prepare = partial(self._compact, "overflow", again=True)
            return Next(action="again", entries=(FORGET,), prepare=prepare)
        if self._little_room:
            return Next(prepare=partial(self._compact, "threshold", again=False))
        return at.next

    async def _compact(self, reason: str, *, again: bool) -> None:
        self._publish({"type": "compaction_start", "reason": reason})
        await asyncio.sleep(0)
        self._publish({"type": "compaction_end", "reason": reason, "willRetry": again})


class Drafting(Policy):
    """Adds entries once at a boundary, and requests another turn if configured."""

    def __init__(self, kind: str, *entries: Json, again: bool = False) -> None:
        self._kind = kind
        self._next = Next(action="again" if again else "go_on", entries=entries)
        self._done = False

    async def at_boundary(self, at: Boundary) -> Next:
        """Once."""
        if at.kind != self._kind or self._done:
            return at.next
        self._done = True
        return self._next
