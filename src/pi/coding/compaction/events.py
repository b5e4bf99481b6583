"""What is told and asked around a compaction.

``CompactionStart`` and ``CompactionEnd`` are public: their JSON form is that of JSON mode and RPC.
The others go over the bus, where extensions hear them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType, field

from pi.agent.compaction.budget import CompactionItem, CompactionSettings
from pi.ai.messages import Image, Json, Text, Usage, UserMessage
from pi.ai.models.model import Model
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.compaction.measuring import branch_items
from pi.coding.compaction.options import BranchSummaryOptions
from pi.coding.session.entries import BranchSummary, Compaction, Entry
from pi.coding.session.log import SessionLog

if TYPE_CHECKING:
    from pi.agent.compaction.prepare import Preparation
    from pi.agent.compaction.summarise import Ask


CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow", "incomplete", "idle"]


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

    reason: CompactionReason


class CompactionEnd(Record, tag="compaction_end"):
    """A compaction is over; without a ``result`` nothing has changed."""

    reason: CompactionReason
    result: CompactionResult | UnsetType = UNSET
    aborted: bool = False
    will_retry: bool = False
    error_message: str | UnsetType = UNSET


class CompactDecision(Record):
    """A handler's answer to ``BeforeCompact``."""

    cancel: bool = False
    compaction: CompactionResult | None = None
    """A finished one, in place of asking a model."""


class BeforeCompact(Query):
    """A compaction is about to begin: it may be cancelled, or done by somebody else."""

    preparation: Preparation
    branch_entries: Sequence[Entry]
    custom_instructions: str
    reason: CompactionReason
    will_retry: bool
    decision: CompactDecision = CompactDecision()

    def with_answer(self, answer: CompactDecision) -> Self:
        """The last answer counts, and a cancellation is final."""
        return replace(self, decision=answer)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.decision.cancel


class CompactingAnswer(Record):
    """A handler's answer to ``CompactionControl``."""

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


class Compacting(Query):
    """A summary is about to be asked for: what else should the summarising model know?"""

    reason: CompactionReason
    answer: CompactingAnswer = CompactingAnswer()

    def with_answer(self, answer: CompactingAnswer) -> Self:
        """What all say counts."""
        return replace(self, answer=self.answer.and_then(answer))


class Compacted(Event):
    """A compaction is in the log."""

    compaction_entry: Compaction
    from_extension: bool
    reason: CompactionReason
    will_retry: bool


class CompactFailed(Event):
    """A compaction came to nothing."""

    reason: CompactionReason
    error_message: str
    aborted: bool
    will_retry: bool
    from_extension: bool = False


# Notes on a branch that the person leaves, taken before the leaf moves.


class Notes(Record):
    """A summary that somebody brings."""

    summary: str
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


class TreeMove(Record):
    """A move of the leaf that is about to happen."""

    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """What is left behind."""
    user_wants_summary: bool = False
    custom_instructions: str = ""
    replace_instructions: bool = False
    label: str = ""

    @property
    def entries_to_summarize(self) -> tuple[Entry, ...]:
        """``entries``, as extensions of the original know them."""
        return self.entries


class TreeDecision(Record):
    """A handler's answer to ``BeforeTree``; what it leaves out stays as it was."""

    cancel: bool = False
    summary: Notes | None = None
    custom_instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None


class BeforeTree(Query):
    """The leaf is about to move: it may stay, and the notes may come from somebody else."""

    move: TreeMove
    cancelled: bool = False
    summary: Notes | None = None

    def with_answer(self, answer: TreeDecision) -> Self:
        """Later answers add to and beat earlier ones; a cancellation is final."""
        move = self.move
        if answer.custom_instructions is not None:
            move = replace(move, custom_instructions=answer.custom_instructions)
        if answer.replace_instructions is not None:
            move = replace(move, replace_instructions=answer.replace_instructions)
        if answer.label is not None:
            move = replace(move, label=answer.label)
        summary = answer.summary or self.summary
        return replace(self, move=move, cancelled=answer.cancel, summary=summary)

    @property
    def is_settled(self) -> bool:
        """Whether somebody has cancelled."""
        return self.cancelled


class TreeMoved(Event):
    """The leaf has moved."""

    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: BranchSummary | None = None
    from_extension: bool = False


def tree_move(log: SessionLog, target: str) -> TreeMove:
    """What going to ``target`` would leave behind."""
    old, new = log.tree.path(log.leaf), log.tree.path(log.tree.place(target))
    shared = set(new)
    left = [place for place in old if place not in shared]
    common = [place for place in old if place in shared]
    return TreeMove(
        target_id=target,
        old_leaf_id=log.leaf_id,
        common_ancestor_id=log.tree.outlines[common[-1]].id if common else None,
        entries=tuple(log.at(place) for place in left),
    )


async def notes_on(
    move: TreeMove,
    log: SessionLog,
    ask: Ask,
    options: BranchSummaryOptions,
    *,
    model: Model,
) -> Notes:
    """Notes by a model on what ``move`` leaves behind, or ``CompactionFailed``."""
    # Not at the top: every start loads the events above, and hardly any asks for notes.
    from pi.agent.compaction.compact import summarise_branch
    from pi.agent.compaction.summarise import SummaryInstructions

    left = {entry.id: entry for entry in move.entries}
    items = [_with_summary(item, left[item.id]) for item in branch_items(log) if item.id in left]
    custom = move.custom_instructions
    guidance = SummaryInstructions(
        custom_instructions="" if move.replace_instructions else custom,
        prompt=custom if move.replace_instructions else "",
    )
    settings = CompactionSettings(reserve_tokens=options.reserve_tokens)
    made = await summarise_branch(items, ask, settings, model=model, guidance=guidance)
    return Notes(summary=made.summary, details=msgspec.to_builtins(made.details), usage=made.usage)


def _with_summary(item: CompactionItem, entry: Entry) -> CompactionItem:
    """``item``; that of a compaction tells its summary, which a branch that is left has no more."""
    if not isinstance(entry, Compaction):
        return item
    details = entry.details if isinstance(entry.details, dict) and not entry.from_hook else None
    summary = UserMessage(content=entry.summary)
    return replace(item, role="compactionSummary", message=summary, details=details)
