"""What is wanted of a strategy: it gets the work and says what should happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from pi.agent.compaction.budget import CompactionItem
from pi.agent.compaction.compact import compact
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.prepare import Preparation
from pi.agent.compaction.summarise import Ask
from pi.ai.messages import ToolResultMessage
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.compaction.events import CompactionReason, CompactionResult
from pi.coding.compaction.measuring import edit, protected, saved
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

    reason: CompactionReason
    items: Sequence[CompactionItem]
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
        """What should be stored; ``OpenCancelled`` leaves it to the next strategy."""
        ...


# ``shake``: the largest old tool results are shown as a note; nothing is summarised. Pure.


PROTECTED_TOKENS = 40_000
"""The newest part of the conversation, which stays as it is."""
GOAL = 0.6
"""Part of the threshold below which the conversation should come."""


def notice(item: CompactionItem) -> str:
    """What is shown in place of a result: how to find it again."""
    return f"[Output of {item.tokens} tokens left out - it is in session entry {item.id}]"


class ShakeStrategy:
    """Needs no model, and so works offline and when the conversation fits nobody any more."""

    async def compact(self, work: Work) -> Outcome:
        """Edits of the largest results, as few as it takes."""
        wanted = work.tokens - int(GOAL * work.threshold)
        chosen: list[CompactionItem] = []
        gained = 0
        for item in sorted(_candidates(work.items), key=lambda item: -saved(item, notice(item))):
            if gained >= wanted:
                break
            chosen.append(item)
            gained += saved(item, notice(item))
        if not chosen:
            return Declined(why="There is no large tool result outside the newest part.")
        return Edits(edits=tuple(edit(item, notice(item)) for item in chosen), tokens_saved=gained)


def _candidates(items: Sequence[CompactionItem]) -> list[CompactionItem]:
    """Tool results that are old enough, worth the trouble and not protected."""
    found: list[CompactionItem] = []
    stays, newer = protected(items), 0
    for item in reversed(items):
        old = newer >= PROTECTED_TOKENS
        newer += item.tokens
        worth = isinstance(item.message, ToolResultMessage) and saved(item, notice(item)) > 0
        if old and worth and item.id not in stays:
            found.append(item)
    return found


# ``context-full``: what is old becomes notes by a model, and a carry-over that always survives.


GIVES_UP = ("aborted", "nothing_to_compact")
"""Failures that another model would not mend."""


class SummaryStrategy:
    """Asks the session's own model, then those that are configured as a fallback."""

    async def compact(self, work: Work) -> Outcome:
        """A summary of the first model that gives one worth keeping."""
        if work.preparation is None:
            return Declined(why=work.why_not)
        problems: list[CompactionFailed] = []
        for model in work.models:
            try:
                result = await compact(work.preparation, work.ask(model), work.options, model=model)
            except CompactionFailed as problem:
                if problem.code in GIVES_UP:
                    raise
                problems.append(problem)
            else:
                return CompactionResult(
                    summary=result.summary,
                    first_kept_id=result.first_kept_id,
                    tokens_before=result.tokens_before,
                    usage=result.usage,
                    details=msgspec.to_builtins(result.details),
                )
        return Declined(why=problems[0].message if problems else "There is no model to ask.")
