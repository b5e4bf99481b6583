"""What a compaction will do, decided before any model is asked. Pure."""

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
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_operations import (
    FileLists,
    FileOps,
    by_operation,
    file_lists,
    file_operations,
)
from pi.agent.compaction.summarise import SummaryInstructions
from pi.ai.messages import Json, Message
from pi.base.records import Record

# Where the old part of a conversation ends and the part that stays begins. Pure.


TURN_STARTS = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
CUTS = TURN_STARTS | {"assistant"}


class Cut(Record):
    """A conversation in two, or in three when the cut splits a turn."""

    index: int
    """The first item that stays; ``0`` when nothing can go."""
    turn_start: int | None = None
    """Where the split turn begins; ``None`` when the cut is between turns."""


def find_cut_point(items: Sequence[CompactionItem], keep_recent_tokens: int = 20_000) -> Cut:
    """The cut that keeps as much as fits into ``keep_recent_tokens``.

    When the newest piece alone is larger, just that piece is kept. A call is never parted from
    its results: providers refuse an orphan.
    """
    allowed = _allowed(items)
    best: int | None = None
    kept = 0
    for at in range(len(items) - 1, -1, -1):
        kept += items[at].tokens
        if kept > keep_recent_tokens and best is not None:
            break
        if allowed[at]:
            best = at
    if best is None:
        return Cut(index=0)
    return Cut(index=_with_metadata(items, best), turn_start=_turn_start(items, best))


def _allowed(items: Sequence[CompactionItem]) -> list[bool]:
    """For each item whether the kept part may begin with it."""
    last_result: dict[int, int] = {}
    for exchange in exchanges(items):
        if exchange.answered_at is not None:
            earlier = last_result.get(exchange.called_at, 0)
            last_result[exchange.called_at] = max(earlier, exchange.answered_at)
    allowed = []
    open_until = -1
    for at, item in enumerate(items):
        allowed.append(item.role in CUTS and item.message is not None and at > open_until)
        open_until = max(open_until, last_result.get(at, -1))
    return allowed


def _turn_start(items: Sequence[CompactionItem], cut: int) -> int | None:
    """Where the turn begins that ``cut`` splits; ``None`` when its beginning is not here."""
    if items[cut].role in TURN_STARTS:
        return None
    starts = (at for at in range(cut - 1, -1, -1) if items[at].role in TURN_STARTS)
    return next(starts, None)


def _with_metadata(items: Sequence[CompactionItem], cut: int) -> int:
    """Keep what stands right before the cut and is no message: a model change, a label."""
    while cut and items[cut - 1].message is None:
        cut -= 1
    return cut


class PreviousSummary(Record):
    """The compaction before this one, as it is stored."""

    summary: str
    details: Json | None = None
    """Only of a compaction that pi made itself; ``None`` where an extension did."""


class Preparation(Record):
    """A compaction that is ready to run; extensions may look at it and change it."""

    first_kept_id: str
    history: tuple[CompactionItem, ...]
    """Whole turns that will be replaced by notes."""
    turn_prefix: tuple[CompactionItem, ...]
    """The beginning of the turn that is split; empty when the cut is between turns."""
    kept: tuple[CompactionItem, ...]
    tokens_before: int
    previous_summary: str = ""
    files: FileLists = FileLists()
    carry_over: CarryOver = CarryOver()
    carry_over_tokens: int = 0
    """What the carry-over may take."""
    guidance: SummaryInstructions = SummaryInstructions()
    settings: CompactionSettings = CompactionSettings()

    # As extensions of the original know it --------------------------------------------------------

    @property
    def first_kept_entry_id(self) -> str:
        """``first_kept_id``."""
        return self.first_kept_id

    @property
    def messages_to_summarize(self) -> tuple[Message, ...]:
        """What the model was shown of ``history``."""
        return _shown(self.history)

    @property
    def turn_prefix_messages(self) -> tuple[Message, ...]:
        """What the model was shown of ``turn_prefix``."""
        return _shown(self.turn_prefix)

    @property
    def is_split_turn(self) -> bool:
        """Whether the cut is inside a turn."""
        return bool(self.turn_prefix)

    @property
    def file_ops(self) -> FileOps:
        """The files, by how they were touched."""
        return by_operation((*self.history, *self.turn_prefix), self.files)

    # ----------------------------------------------------------------------------------------------

    @property
    def replaced_tokens(self) -> int:
        """What will no longer be shown, the earlier summary included."""
        replaced = tokens_of(self.history) + tokens_of(self.turn_prefix)
        return replaced + estimate_tokens(self.previous_summary)


def _shown(items: Sequence[CompactionItem]) -> tuple[Message, ...]:
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
) -> Preparation:
    """Decide what goes and what stays.

    ``items`` is the branch from the first entry that the earlier compaction kept; ``before`` is
    what came before that, which is read only when that compaction handed nothing on.
    """
    keep = tokens_to_keep(window, settings)
    cut = find_cut_point(items, keep)
    start = cut.index if cut.turn_start is None else cut.turn_start
    replaced, kept = tuple(items[: cut.index]), tuple(items[cut.index :])
    if not tokens_of(replaced):
        raise CompactionFailed("nothing_to_compact", "Nothing to compact (session too small)")
    details = (previous.details if previous else None) or {}
    handed_on = carry_over_in(details) or collected(CarryOver(), before)
    return Preparation(
        first_kept_id=kept[0].id,
        history=replaced[:start],
        turn_prefix=replaced[start:],
        kept=kept,
        tokens_before=tokens_before,
        previous_summary=previous.summary if previous else "",
        files=file_operations(replaced, file_lists(details)),
        carry_over=without_visible(collected(handed_on, items), (item.id for item in kept)),
        carry_over_tokens=int(PART_OF_KEPT * keep),
        guidance=guidance or SummaryInstructions(),
        settings=settings,
    )
