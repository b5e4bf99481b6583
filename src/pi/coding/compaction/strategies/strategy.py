"""What is wanted of a strategy: it gets the work and says what should happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from pi.agent.compaction.items import Item
from pi.agent.compaction.preparation import Preparation
from pi.agent.compaction.summarising import Ask
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.compaction.events import CompactionResult, Reason
from pi.coding.compaction.options import CompactionOptions
from pi.coding.session.entries import Compaction, ContextEdit


class Declined(Record):
    """This strategy cannot help here; the next one is tried."""

    why: str


class Edits(Record):
    """Nothing is summarised; single entries are shown shorter, or not at all."""

    edits: tuple[ContextEdit, ...]
    tokens_saved: int


class HandOff(Record):
    """The work goes on in a new session that begins with ``document``."""

    document: str


Outcome: TypeAlias = CompactionResult | Edits | HandOff | Declined


class Work(Record):
    """One compaction: what there is, and whom a strategy may ask."""

    reason: Reason
    items: Sequence[Item]
    """The branch from the first entry that the earlier compaction kept."""
    tokens: int
    """What the conversation takes now."""
    threshold: int
    preparation: Preparation | None
    """What a summary would replace; ``None`` when there is nothing to summarise."""
    why_not: str
    """Why there is no preparation."""
    previous: Compaction | None
    options: CompactionOptions
    models: Sequence[Model]
    """Whom to ask, the session's own model first."""
    ask: Callable[[Model], Ask]


class Strategy(Protocol):
    """Makes a conversation shorter. It stores nothing itself."""

    async def compact(self, work: Work) -> Outcome:
        """What should be stored; ``Declined`` leaves it to the next strategy."""
        ...
