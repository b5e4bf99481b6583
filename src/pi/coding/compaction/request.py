"""``CompactionRequest``, and ``CompactionSession``: what a compaction needs from its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pi.agent.agent import Agent
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.bus import EventBus
from pi.coding.compaction.options import CompactionOptions
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry

if TYPE_CHECKING:  # loaded with the first compaction
    from pi.agent.compaction.summarise import Ask
    from pi.coding.compaction.events import CompactionReason
    from pi.coding.compaction.strategies import Strategy

EmitEvent: TypeAlias = Callable[[Any], Awaitable[None]]
"""Emits a public event."""


class CompactionRequest(Record):
    """One requested compaction."""

    reason: CompactionReason
    instructions: str = ""
    """Instructions of the user; they require a summary, whatever the strategy."""
    will_retry: bool = False
    """Whether the model request is repeated afterwards."""
    leave_out: str = ""
    """Id of a response to hide from the model after the compaction has succeeded."""
    before_prompt: bool = False
    """Whether a prompt waits for it."""


class CompactionSession(Protocol):
    """What a compaction needs from its session; settings and models may change."""

    @property
    def bus(self) -> EventBus:
        """The bus of the session."""
        ...

    @property
    def agent(self) -> Agent:
        """The agent; its current model writes the summaries."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    @property
    def strategies(self) -> Mapping[str, Strategy]:
        """All strategies by name."""
        ...

    def conversation(self) -> SessionConversation:
        """The current conversation."""
        ...

    def options(self) -> CompactionOptions:
        """The current settings."""
        ...

    def fallbacks(self) -> Sequence[Model]:
        """Models to use when the session's own model returns no summary."""
        ...

    def ask(self, model: Model, reason: CompactionReason, *, is_last: bool) -> Ask:
        """Return the function that calls ``model``; ``is_last`` if no other model follows."""
        ...

    async def add(self, draft: KnownEntry, /) -> KnownEntry:
        """Append an entry, and emit it if its kind is public."""
        ...

    async def emit(self, event: Any, /) -> None:
        """Emit a public event."""
        ...

    async def hand_off(self, document: str, /, *, go_on: bool) -> None:
        """Continue in a new session that begins with a document, once the run has ended."""
        ...
