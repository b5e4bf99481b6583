"""Where the old part of a conversation ends and the part that stays begins. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.items import Item, exchanges
from pi.base.records import Record

TURN_STARTS = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
CUTS = TURN_STARTS | {"assistant"}


class Cut(Record):
    """A conversation in two, or in three when the cut splits a turn."""

    index: int
    """The first item that stays; ``0`` when nothing can go."""
    turn_start: int | None = None
    """Where the split turn begins; ``None`` when the cut is between turns."""


def find_cut_point(items: Sequence[Item], keep_recent_tokens: int = 20_000) -> Cut:
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


def _allowed(items: Sequence[Item]) -> list[bool]:
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


def _turn_start(items: Sequence[Item], cut: int) -> int | None:
    """Where the turn begins that ``cut`` splits; ``None`` when its beginning is not here."""
    if items[cut].role in TURN_STARTS:
        return None
    starts = (at for at in range(cut - 1, -1, -1) if items[at].role in TURN_STARTS)
    return next(starts, None)


def _with_metadata(items: Sequence[Item], cut: int) -> int:
    """Keep what stands right before the cut and is no message: a model change, a label."""
    while cut and items[cut - 1].message is None:
        cut -= 1
    return cut
