"""``CompactionRequest``, and ``CompactionSession``: what a compaction needs from its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.agent.agent import Agent
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.bus import EventBus
from pi.coding.compaction.events import CompactionReason
from pi.coding.compaction.options import CompactionOptions
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry

if TYPE_CHECKING:  # loaded with the first compaction
    from pi.agent.compaction.summarise import Ask
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


class CompactionSession(Record):
    """What a compaction needs from its session. Callables: settings and models may change."""

    conversation: Callable[[], SessionConversation]
    add: Callable[[KnownEntry], Awaitable[KnownEntry]]
    """Appends an entry, and emits it if its kind is public."""
    bus: EventBus
    emit: EmitEvent
    clock: Clock
    options: Callable[[], CompactionOptions]
    agent: Agent
    """Its current model writes the summaries."""
    fallbacks: Callable[[], Sequence[Model]]
    """Models to use when the session's own model returns no summary."""
    ask: Callable[[Model, CompactionReason, bool], Ask]
    """Returns the function that calls a model; the last argument says whether it is the last model.
    """
    hand_off: Callable[[str], Awaitable[None]]
    """Continues in a new session that begins with a document."""
    strategies: Mapping[str, Strategy]
