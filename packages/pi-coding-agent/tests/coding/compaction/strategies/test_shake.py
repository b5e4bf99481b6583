"""Shaking replaces the largest old results until enough is gained."""

from __future__ import annotations

from typing import Any

from pi.agent.compaction.budget import CompactionItem
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.strategies import Declined, Edits, Outcome, ShakeStrategy, Work
from tests.coding.compaction.test_pruning import branch, exchange, notices


async def shaken(items: list[CompactionItem], *, tokens: int, threshold: int) -> Outcome:
    work: Any = Work(
        reason="threshold",
        items=items,
        tokens=tokens,
        threshold=threshold,
        preparation=None,
        why_not="",
        previous=None,
        options=CompactionOptions(),
        models=(),
        ask=lambda model: None,  # type: ignore[arg-type,return-value]
    )
    return await ShakeStrategy().compact(work)


async def test_the_largest_results_outside_the_newest_part_are_replaced_first() -> None:
    items = branch(
        exchange("small", 5_000),
        exchange("large", 30_000),
        exchange("middle", 20_000),
        exchange("newest", 41_000),
    )
    outcome = await shaken(items, tokens=96_000, threshold=100_000)

    assert isinstance(outcome, Edits)
    assert notices(outcome) == {  # type: ignore[arg-type]
        "large": "[Output of 30000 tokens left out - read entry://large]",
        "middle": "[Output of 20000 tokens left out - read entry://middle]",
    }
    assert 96_000 - outcome.tokens_saved <= 60_000


async def test_shake_declines_when_no_result_can_be_replaced() -> None:
    outcome = await shaken(branch(exchange("newest", 30_000)), tokens=99, threshold=10)

    assert isinstance(outcome, Declined)
