"""Plans a compaction before any model is called: cut point and parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.budget import (
    CompactionItem,
    CompactionSettings,
    estimate_tokens,
    exchanges,
    tokens_of,
    tokens_to_keep,
)
from pi.agent.compaction.carry_over import CarryOver, carry_over_in, collected, without_visible
from pi.agent.compaction.carry_over_text import PART_OF_KEPT
from pi.agent.compaction.errors import TOO_SMALL, CompactionFailed
from pi.agent.compaction.file_lists import (
    FileLists,
    FileOps,
    by_operation,
    file_lists,
    file_operations,
    file_tree,
)
from pi.agent.compaction.summarise import SummaryInstructions
from pi.ai.messages import Json, Message
from pi.base.records import Record, replace

TURN_STARTS = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
CUTS = TURN_STARTS | {"assistant"}


class Cut(Record):
    """A conversation in two parts, or three if the cut splits a turn."""

    index: int
    """The first item that is kept; ``0`` if nothing can be removed."""
    turn_start: int | None = None
    """Start of the split turn; ``None`` if the cut is between turns."""


def find_cut_point(items: Sequence[CompactionItem], keep_recent_tokens: int = 20_000) -> Cut:
    """Return the cut that keeps as much as fits into ``keep_recent_tokens``.

    If the newest piece alone is larger, only that piece is kept. A call is never separated from its
    results: providers reject orphans.
    """
    allowed = _allowed(items)
    best: int | None = None
    tokens = 0
    for index in range(len(items) - 1, -1, -1):
        tokens += items[index].tokens
        if tokens > keep_recent_tokens and best is not None:
            break
        if allowed[index]:
            best = index
    if best is None:
        return Cut(index=0)
    return Cut(index=_with_metadata(items, best), turn_start=_turn_start(items, best))


def _allowed(items: Sequence[CompactionItem]) -> list[bool]:
    """Return for each item whether the kept part may begin with it."""
    last_result: dict[int, int] = {}
    for exchange in exchanges(items):
        if exchange.answered_at is not None:
            earlier = last_result.get(exchange.called_at, 0)
            last_result[exchange.called_at] = max(earlier, exchange.answered_at)
    allowed = []
    open_until = -1
    for index, item in enumerate(items):
        allowed.append(item.role in CUTS and item.message is not None and index > open_until)
        open_until = max(open_until, last_result.get(index, -1))
    return allowed


def _turn_start(items: Sequence[CompactionItem], cut: int) -> int | None:
    """Return the start of the turn that ``cut`` splits.

    ``None`` if the cut is between turns, or if the turn starts before ``items``.
    """
    if items[cut].role in TURN_STARTS:
        return None
    starts = (index for index in range(cut - 1, -1, -1) if items[index].role in TURN_STARTS)
    return next(starts, None)


def _with_metadata(items: Sequence[CompactionItem], cut: int) -> int:
    """Move the cut before adjacent metadata: a model change, a label."""
    while cut and items[cut - 1].message is None:
        cut -= 1
    return cut


class PreviousSummary(Record):
    """The previous compaction as stored."""

    summary: str
    details: Json | None = None
    """Only of a compaction that pi made; ``None`` for one by an extension."""


class Preparation(Record):
    """A planned compaction; extensions may inspect and change it."""

    first_kept_id: str
    history: tuple[CompactionItem, ...]
    """Complete turns to be replaced by a summary."""
    turn_prefix: tuple[CompactionItem, ...]
    """Beginning of the split turn; empty if the cut is between turns."""
    kept: tuple[CompactionItem, ...]
    tokens_before: int
    previous_summary: str = ""
    files: FileLists = FileLists()
    carry_over: CarryOver = CarryOver()
    carry_over_tokens: int = 0
    """Budget of the carry-over."""
    guidance: SummaryInstructions = SummaryInstructions()
    settings: CompactionSettings = CompactionSettings()
    archived: tuple[CompactionItem, ...] = ()
    """Items before ``history`` that an earlier compaction archived without a text summary."""
    archived_summary: str = ""
    """The last text summary before ``archived``."""

    # Names that extensions of the original expect ----------------------------------------------

    @property
    def first_kept_entry_id(self) -> str:
        """``first_kept_id``."""
        return self.first_kept_id

    @property
    def messages_to_summarize(self) -> tuple[Message, ...]:
        """``history`` as the model saw it."""
        return _messages_of(self.history)

    @property
    def turn_prefix_messages(self) -> tuple[Message, ...]:
        """``turn_prefix`` as the model saw it."""
        return _messages_of(self.turn_prefix)

    @property
    def is_split_turn(self) -> bool:
        """Whether the cut is inside a turn."""
        return bool(self.turn_prefix)

    @property
    def file_ops(self) -> FileOps:
        """The files by operation."""
        return by_operation((*self.history, *self.turn_prefix), self.files)

    # ----------------------------------------------------------------------------------------------

    def unarchived(self) -> Preparation:
        """Return the plan for a text summary, which also covers the archived items.

        A strategy that archives history in another form, such as pictures, leaves no summary that
        a text summary could continue. The entries are still in the log.
        """
        if not self.archived:
            return self
        history = (*self.archived, *self.history)
        return replace(self, history=history, previous_summary=self.archived_summary, archived=())

    @property
    def replaced_tokens(self) -> int:
        """Tokens that will no longer be sent, including the earlier summary."""
        replaced = tokens_of(self.history) + tokens_of(self.turn_prefix)
        return replaced + estimate_tokens(self.previous_summary)


def _messages_of(items: Sequence[CompactionItem]) -> tuple[Message, ...]:
    return tuple(item.message for item in items if item.message is not None)


def prepare(
    items: Sequence[CompactionItem],
    settings: CompactionSettings,
    *,
    window: int,
    tokens_before: int,
    previous: PreviousSummary | None = None,
    before: Sequence[CompactionItem] = (),
    guidance: SummaryInstructions | None = None,
    ratio: float = 1.0,
) -> Preparation:
    """Decide what is replaced and what is kept.

    ``items`` is the branch from the first entry that the earlier compaction kept; ``before`` is the
    part before it, used only if that compaction has no carry-over. ``ratio`` is the provider's
    count of the conversation divided by the estimate.
    """
    keep = tokens_to_keep(window, settings, ratio)
    cut = find_cut_point(items, keep)
    start = cut.index if cut.turn_start is None else cut.turn_start
    replaced, kept_items = tuple(items[: cut.index]), tuple(items[cut.index :])
    if not tokens_of(replaced):
        raise CompactionFailed("nothing_to_compact", TOO_SMALL)
    details = (previous.details if previous else None) or {}
    handed_on = carry_over_in(details) or collected(CarryOver(), before)
    files = file_operations(replaced, file_lists(details))
    return Preparation(
        first_kept_id=kept_items[0].id,
        history=replaced[:start],
        turn_prefix=replaced[start:],
        kept=kept_items,
        tokens_before=tokens_before,
        previous_summary=previous.summary if previous else "",
        files=file_tree(replaced, files, details) if settings.file_tree else files,
        carry_over=without_visible(collected(handed_on, items), (item.id for item in kept_items)),
        carry_over_tokens=int(PART_OF_KEPT * keep),
        guidance=guidance or SummaryInstructions(),
        settings=settings,
    )
