"""What is told and asked around a compaction.

``CompactionStart`` and ``CompactionEnd`` are public: their JSON form is that of JSON mode and RPC.
The others go over the bus, where extensions hear them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from pi.ai.messages import Image, Json, Text, Usage
from pi.base.records import UNSET, Record, UnsetType, field, replace
from pi.coding.bus import Event, Question
from pi.coding.session.entries import Compaction, Entry

if TYPE_CHECKING:  # every start loads these events, hardly any compacts
    from pi.agent.compaction.preparation import Preparation

Reason: TypeAlias = Literal["manual", "threshold", "overflow", "incomplete", "idle"]


class CompactionResult(Record):
    """What a compaction came to, in the JSON names of RPC."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    estimated_tokens_after: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """What the model is shown in place of ``summary``."""
    preserve_data: Json | UnsetType = UNSET
    """What the strategy wants to find again at the next compaction."""


class CompactionStart(Record, tag="compaction_start"):
    """A compaction begins."""

    reason: Reason


class CompactionEnd(Record, tag="compaction_end"):
    """A compaction is over; without a ``result`` nothing has changed."""

    reason: Reason
    result: CompactionResult | UnsetType = UNSET
    aborted: bool = False
    will_retry: bool = False
    error_message: str | UnsetType = UNSET


class CompactDecision(Record):
    """A handler's answer to ``BeforeCompact``."""

    cancel: bool = False
    compaction: CompactionResult | None = None
    """A finished one, in place of asking a model."""


class BeforeCompact(Question):
    """A compaction is about to begin: it may be cancelled, or done by somebody else."""

    preparation: Preparation
    branch_entries: Sequence[Entry]
    custom_instructions: str
    reason: Reason
    will_retry: bool
    decision: CompactDecision = CompactDecision()

    def answered(self, answer: CompactDecision) -> Self:
        """The last answer counts, and a cancellation is final."""
        return replace(self, decision=answer)

    @property
    def settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.decision.cancel


class CompactingAnswer(Record):
    """A handler's answer to ``Compacting``."""

    prompt: str = ""
    context: tuple[str, ...] = ()
    preserve_data: Json = field(default_factory=dict)

    def and_then(self, answer: CompactingAnswer) -> CompactingAnswer:
        """Both answers: contexts and data add up, the last prompt wins."""
        return CompactingAnswer(
            prompt=answer.prompt or self.prompt,
            context=self.context + answer.context,
            preserve_data=self.preserve_data | answer.preserve_data,
        )


class Compacting(Question):
    """A summary is about to be asked for: what else should the summarising model know?"""

    reason: Reason
    answer: CompactingAnswer = CompactingAnswer()

    def answered(self, answer: CompactingAnswer) -> Self:
        """What all say counts."""
        return replace(self, answer=self.answer.and_then(answer))


class Compacted(Event):
    """A compaction is in the log."""

    compaction_entry: Compaction
    from_extension: bool
    reason: Reason
    will_retry: bool


class CompactFailed(Event):
    """A compaction came to nothing."""

    reason: Reason
    error_message: str
    aborted: bool
    will_retry: bool
    from_extension: bool = False
