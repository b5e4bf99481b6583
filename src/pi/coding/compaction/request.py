"""Whom a compaction works with, gathered in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.bus import Bus
from pi.coding.compaction.events import CompactionReason
from pi.coding.compaction.options import CompactionOptions
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry

if TYPE_CHECKING:  # loaded with the first compaction
    from pi.agent.compaction.summarise import Ask
    from pi.coding.compaction.strategies import Strategy

EmitEvent: TypeAlias = Callable[[Any], Awaitable[None]]
"""Tells a public event."""


class CompactionRequest(Record):
    """One compaction that somebody wants."""

    reason: CompactionReason
    instructions: str = ""
    """What the person adds; a directed summary is then wanted, whatever the strategy."""
    will_retry: bool = False
    """Whether the model is asked again afterwards."""
    leave_out: str = ""
    """The id of an answer that the model no longer sees, once the compaction has succeeded."""


class CompactionSession(Record):
    """What is current is asked for every time: settings and models change under way."""

    conversation: Callable[[], SessionConversation]
    add: Callable[[KnownEntry], Awaitable[KnownEntry]]
    """Appends an entry, and tells it if it is of a kind that is told."""
    bus: Bus
    tell: EmitEvent
    clock: Clock
    options: Callable[[], CompactionOptions]
    model: Callable[[], Model]
    fallbacks: Callable[[], Sequence[Model]]
    """Models to ask for a summary when the session's own one gives none."""
    ask: Callable[[Model, CompactionReason, bool], Ask]
    """How to ask a model; the last argument says whether no other can be asked after it."""
    hand_off: Callable[[str], Awaitable[None]]
    """Goes on in a new session that begins with a document."""
    strategies: Mapping[str, Strategy]
