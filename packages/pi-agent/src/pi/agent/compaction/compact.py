"""Entry points: compaction of a conversation, and summary of a branch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import UNSET, UnsetType, field

from pi.agent.compaction.budget import (
    CompactionItem,
    CompactionSettings,
    estimate_tokens,
    tokens_to_keep,
)
from pi.agent.compaction.carry_over import CarryOver, carry_over_in, collected
from pi.agent.compaction.carry_over_text import PART_OF_KEPT, fit_carry_over
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_lists import (
    FileLists,
    FileTree,
    file_blocks,
    file_lists,
    file_operations,
    file_tree,
)
from pi.agent.compaction.prepare import Preparation, PreviousSummary
from pi.agent.compaction.summarise import Ask, Summariser, SummaryInstructions, newest
from pi.agent.compaction.text import serialise, without_blocks
from pi.ai.messages import Json, Usage
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.base.tasks import off_loop

NO_NOTES = "Nothing in this part of the conversation needs notes."
TURN_CONTEXT = "**Turn Context (split turn):**"


class CompactionDetails(FileLists):
    """Details that one compaction passes to the next."""

    carry_over: CarryOver = CarryOver()


class TreeDetails(CompactionDetails):
    """Details with the files that were both read and changed, for the next ``<files>`` tree."""

    also_read_files: tuple[str, ...] = ()


class Facts(Record):
    """Facts that survive a compaction, as text for the model and as details for the next one."""

    text: str
    details: Json


def kept_facts(preparation: Preparation) -> Facts:
    """Return the facts of the part that ``preparation`` replaces."""
    carried = fit_carry_over(
        preparation.carry_over, preparation.files, preparation.carry_over_tokens
    )
    return Facts(text=carried.text, details=_plain(_details(preparation.files, carried.carried)))


def all_facts(
    items: Sequence[CompactionItem],
    settings: CompactionSettings,
    *,
    window: int,
    previous: PreviousSummary | None = None,
    before: Sequence[CompactionItem] = (),
) -> Facts:
    """Return the facts of the whole conversation, for a strategy that keeps nothing of it."""
    earlier = (previous.details if previous else None) or {}
    handed_on = carry_over_in(earlier) or collected(CarryOver(), before)
    files = file_operations(items, file_lists(earlier))
    if settings.file_tree:
        files = file_tree(items, files, earlier)
    tokens = int(PART_OF_KEPT * tokens_to_keep(window, settings))
    carried = fit_carry_over(collected(handed_on, items), files, tokens)
    return Facts(text=carried.text, details=_plain(_details(files, carried.carried)))


def _details(files: FileLists, carried: CarryOver) -> CompactionDetails:
    kind = TreeDetails if isinstance(files, FileTree) else CompactionDetails
    more = {"also_read_files": files.also_read} if isinstance(files, FileTree) else {}
    return kind(
        read_files=files.read_files,
        modified_files=files.modified_files,
        carry_over=carried,
        **more,
    )


def _plain(details: CompactionDetails) -> Json:
    plain: Json = msgspec.to_builtins(details)
    return plain


class CompactionResult(Record):
    """A finished compaction, with the JSON names of the session file."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: CompactionDetails
    usage: Usage
    short_summary: str | UnsetType = UNSET
    """One sentence for the user, if it was requested and written."""


async def compact(
    preparation: Preparation, ask: Ask, settings: CompactionSettings, *, model: Model
) -> CompactionResult:
    """Replace the old part of a conversation by a summary, or raise ``CompactionFailed``.

    ``model`` is the model that ``ask`` calls: its window limits the size of a request.
    """
    summariser = Summariser(ask, model, settings, "compaction")
    history_length = len(preparation.history)
    replaced = await off_loop(lambda: preparation.replaced_tokens, history_length)
    notes = await _notes(preparation, summariser, replaced)
    fitting = partial(
        fit_carry_over, preparation.carry_over, preparation.files, preparation.carry_over_tokens
    )
    carried = await off_loop(fitting, history_length)
    summary = "\n\n".join(filter(None, (notes, carried.text)))
    if estimate_tokens(summary) > replaced:
        raise CompactionFailed(
            "not_smaller",
            f"The summary would take {estimate_tokens(summary)} tokens"
            f" and what it replaces takes {replaced}.",
            hint="Continue the conversation before compacting again.",
        )
    sentence = await summariser.sentence(notes) if settings.short_summary else ""
    return CompactionResult(
        summary=summary,
        first_kept_id=preparation.first_kept_id,
        tokens_before=preparation.tokens_before,
        details=_details(preparation.files, carried.carried),
        short_summary=sentence or UNSET,
        usage=summariser.usage,
    )


async def _notes(preparation: Preparation, summariser: Summariser, most_tokens: int) -> str:
    """Return notes on the history and, if a turn is split, on its beginning."""
    earlier = without_blocks(preparation.previous_summary)
    # In a thread: serialising 200,000 messages takes seconds.
    serialised = await off_loop(partial(serialise, preparation.history), len(preparation.history))
    history = await summariser.notes(
        serialised,
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


PREAMBLE = """\
The user explored a different conversation branch before returning here.
Summary of that exploration:

"""
MAX_FILE_LISTS = 4000
"""Maximum length of the file lists."""


class BranchNotes(Record):
    """A finished summary of a branch."""

    summary: str
    details: FileLists
    usage: Usage


def abandoned_items(
    old: Sequence[CompactionItem], new: Sequence[CompactionItem]
) -> tuple[CompactionItem, ...]:
    """Return the items of the ``old`` path (root to leaf) that are not on the ``new`` one."""
    shared = {item.id for item in new}
    return tuple(item for item in old if item.id not in shared)


async def summarise_branch(
    items: Sequence[CompactionItem],
    ask: Ask,
    settings: CompactionSettings,
    *,
    model: Model,
    guidance: SummaryInstructions | None = None,
) -> BranchNotes:
    """Summarise the newest ``items`` that fit into one request, or raise ``CompactionFailed``."""
    guidance = guidance or SummaryInstructions()
    summariser = Summariser(ask, model, settings, "branch_summary")
    texts = serialise(items)
    if not texts:
        raise CompactionFailed("nothing_to_compact", "There is nothing to summarise here.")
    fitting = newest(texts, summariser.text_budget("branch", guidance))
    notes = await summariser.notes(fitting, "branch", guidance=guidance)
    files = file_operations(items)
    blocks = file_blocks(files, MAX_FILE_LISTS)
    return BranchNotes(
        summary=PREAMBLE + "\n\n".join(filter(None, (notes, blocks))),
        details=files,
        usage=summariser.usage,
    )
