"""Compaction strategies: the protocol, ``shake`` and ``context-full`` (summary)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET

from pi.agent.compaction.budget import CompactionItem
from pi.agent.compaction.compact import Facts, compact, kept_facts
from pi.agent.compaction.errors import CompactionErrorCode, CompactionFailed
from pi.agent.compaction.prepare import Preparation
from pi.agent.compaction.summarise import Ask
from pi.ai.messages import Json, ToolResultMessage, add_usage
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.compaction.events import CompactionReason, CompactionResult
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.pruning import edit, protected, saved
from pi.coding.session.context import replayed
from pi.coding.session.entries import Compaction, ContextEdit

if TYPE_CHECKING:
    from pi.coding.compaction.remote import NativeCompaction, RemoteCompaction


class Declined(Record):
    """The strategy does not apply; the next one is tried."""

    why: str
    """One sentence for the user, shown if no other strategy applies either."""
    hint: str = ""
    """What the user can do about it."""
    code: CompactionErrorCode = "summary_failed"


class Edits(Record):
    """No summary; single entries are shortened or hidden."""

    edits: tuple[ContextEdit, ...]
    tokens_saved: int


class HandOff(Record):
    """Continue in a new session that begins with ``document``. It ends the current run."""

    document: str
    go_on: bool = False
    """Whether the model continues there at once; otherwise it waits for a prompt."""
    details: Json | None = None
    """Stored with the document; ``Work.all_facts().details`` keeps facts for later compactions."""


Outcome: TypeAlias = CompactionResult | Edits | HandOff | Declined


class Work(Record):
    """The input of a strategy."""

    reason: CompactionReason
    items: Sequence[CompactionItem]
    """The branch, starting at the first entry that the previous compaction kept."""
    tokens: int
    """Tokens in use."""
    threshold: int
    preparation: Preparation | None
    """What a summary would replace; ``None`` if there is nothing to summarise."""
    why_not: str
    """Why there is no preparation."""
    previous: Compaction | None
    options: CompactionOptions
    models: Sequence[Model]
    """Models to use, the session's own model first."""
    ask: Callable[[Model], Ask]
    all_facts: Callable[[], Facts] = lambda: Facts(text="", details={})
    """What must survive of the whole conversation, for a strategy that keeps nothing of it."""
    instructions: str = ""
    """Instructions of the user for this compaction."""
    remote: RemoteCompaction | None = None
    """The server that compacts, if that is enabled."""

    @property
    def kept_facts(self) -> Facts:
        """What must survive of the part that ``preparation`` replaces."""
        if self.preparation is None:
            return Facts(text="", details={})
        return kept_facts(self.preparation)


Keeps: TypeAlias = Literal["recent", "nothing", "all"]


class Strategy(Protocol):
    """Shortens a conversation. It stores nothing itself.

    For previews, an attribute ``keeps`` states which messages stay: the ``recent`` ones (the
    default), ``nothing``, or ``all`` in a shortened form.
    """

    async def compact(self, work: Work) -> Outcome:
        """Return the outcome to store; after ``Declined`` the next strategy is tried."""
        ...


GOAL = 0.6
"""Target size, as a fraction of the threshold."""


def notice(item: CompactionItem) -> str:
    """Return the replacement of a result: where to find it."""
    return f"[Output of {item.tokens} tokens left out - read entry://{item.id}]"


class ShakeStrategy:
    """``shake``: replaces the largest old tool results by a note.

    It needs no model, so it works offline and when the conversation fits no model any more.
    """

    keeps: Keeps = "all"

    async def compact(self, work: Work) -> Outcome:
        """Edit the largest results, as few as necessary."""
        excess = work.tokens - int(GOAL * work.threshold)
        chosen: list[CompactionItem] = []
        tokens_saved = 0
        candidates = _candidates(work.items, work.options.keep_recent_tokens)
        for item in sorted(candidates, key=lambda item: -saved(item, notice(item))):
            if chosen and tokens_saved >= excess:  # one at least: the user may have requested it
                break
            chosen.append(item)
            tokens_saved += saved(item, notice(item))
        if not chosen:
            why = "There is no large tool result outside the newest part."
            return Declined(why=why, code="nothing_to_compact")
        return Edits(
            edits=tuple(edit(item, notice(item)) for item in chosen), tokens_saved=tokens_saved
        )


def _candidates(items: Sequence[CompactionItem], keep_recent_tokens: int) -> list[CompactionItem]:
    """Return tool results that are old, large enough and not protected."""
    candidates: list[CompactionItem] = []
    protected_ids, newer_tokens = protected(items), 0
    for item in reversed(items):
        old = newer_tokens >= keep_recent_tokens
        newer_tokens += item.tokens
        saves_tokens = isinstance(item.message, ToolResultMessage) and saved(item, notice(item)) > 0
        if old and saves_tokens and item.id not in protected_ids:
            candidates.append(item)
    return candidates


async def _native(work: Work) -> NativeCompaction | None:
    """Return the provider's own compaction of the replaced part, if that is enabled."""
    if work.remote is None or work.preparation is None:
        return None
    earlier = replayed(work.previous) if work.previous is not None else None
    messages = (
        *((earlier,) if earlier is not None else ()),
        *work.preparation.messages_to_summarize,
        *work.preparation.turn_prefix_messages,
    )
    return await work.remote.native(messages)


NO_FALLBACK_CODES = ("aborted", "nothing_to_compact")
"""Failures that another model would not fix."""


class SummaryStrategy:
    """``context-full``: replaces old entries by a summary and a carry-over.

    Tries the session's own model, then the configured fallback models.
    """

    async def compact(self, work: Work) -> Outcome:
        """Return the first usable summary."""
        if work.preparation is None:
            return Declined(why=work.why_not, code="nothing_to_compact")
        preparation = work.preparation.unarchived()
        errors: list[CompactionFailed] = []
        asks = [(model, work.ask(model)) for model in work.models]
        if work.remote is not None and work.remote.endpoint and work.models:
            asks.insert(0, (work.models[0], work.remote.ask))
        for model, ask in asks:
            try:
                result = await compact(preparation, ask, work.options, model=model)
            except CompactionFailed as error:
                if error.code in NO_FALLBACK_CODES:
                    raise
                errors.append(error)
            else:
                native = await _native(work)
                return CompactionResult(
                    summary=result.summary,
                    short_summary=result.short_summary,
                    first_kept_id=result.first_kept_id,
                    tokens_before=result.tokens_before,
                    usage=result.usage if native is None else add_usage(result.usage, native.usage),
                    details=msgspec.to_builtins(result.details),
                    preserve_data=UNSET if native is None else native.preserved,
                )
        if not errors:
            return Declined(why="No model is available for the summary.")
        return Declined(why=errors[0].message, hint=errors[0].hint, code=errors[0].code)
