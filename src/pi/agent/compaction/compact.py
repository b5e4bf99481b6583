"""Carry out a compaction: notes by a model, and what survives whatever the model writes."""

from __future__ import annotations

from pi.agent.compaction.boundaries import without_blocks
from pi.agent.compaction.carry_over import CarryOver
from pi.agent.compaction.carry_over_text import fitted
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_operations import FileLists
from pi.agent.compaction.preparation import Preparation
from pi.agent.compaction.serialisation import serialise
from pi.agent.compaction.settings import CompactionSettings
from pi.agent.compaction.summarising import Ask, Summariser
from pi.agent.compaction.tokens import estimate_tokens
from pi.ai.messages import Usage
from pi.ai.models.model import Model
from pi.base.records import Record, field

NO_NOTES = "Nothing in this part of the conversation needs notes."
TURN_CONTEXT = "**Turn Context (split turn):**"


class CompactionDetails(FileLists):
    """What one compaction hands to the next, beside its text."""

    carry_over: CarryOver = CarryOver()


class CompactionResult(Record):
    """A finished compaction, in the JSON names of the session file."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: CompactionDetails
    usage: Usage


async def compact(
    preparation: Preparation, ask: Ask, settings: CompactionSettings, *, model: Model
) -> CompactionResult:
    """Replace the old part of a conversation by notes, or raise ``CompactionFailed``.

    ``model`` is the one that ``ask`` reaches: its window decides how much one request holds.
    """
    summariser = Summariser(ask, model, settings, "compaction")
    replaced = preparation.replaced_tokens
    notes = await _notes(preparation, summariser, replaced)
    carried = fitted(preparation.carry_over, preparation.files, preparation.carry_over_tokens)
    summary = "\n\n".join(filter(None, (notes, carried.text)))
    if estimate_tokens(summary) > replaced:
        raise CompactionFailed(
            "not_smaller",
            f"The summary would take {estimate_tokens(summary)} tokens"
            f" and what it replaces takes {replaced}.",
            hint="Go on for a while before compacting again.",
        )
    return CompactionResult(
        summary=summary,
        first_kept_id=preparation.first_kept_id,
        tokens_before=preparation.tokens_before,
        details=CompactionDetails(
            read_files=preparation.files.read_files,
            modified_files=preparation.files.modified_files,
            carry_over=carried.carried,
        ),
        usage=summariser.usage,
    )


async def _notes(preparation: Preparation, summariser: Summariser, most_tokens: int) -> str:
    """Notes on the history and, where a turn is split, on its beginning."""
    earlier = without_blocks(preparation.previous_summary)
    history = await summariser.notes(
        serialise(preparation.history),
        "history",
        previous=earlier,
        guidance=preparation.guidance,
        most_tokens=most_tokens,
    )
    prefix = serialise(preparation.turn_prefix)
    if not prefix:
        return history or NO_NOTES
    turn = await summariser.notes(
        prefix,
        "turn_prefix",
        guidance=preparation.guidance,
        most_tokens=most_tokens - estimate_tokens(history),
    )
    context = f"{TURN_CONTEXT}\n\n{turn}"
    return f"{history}\n\n---\n\n{context}" if history else context
