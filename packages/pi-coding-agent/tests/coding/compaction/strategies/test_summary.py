"""The summary strategy declines with a reason."""

from __future__ import annotations

from typing import Any

from pi.agent.compaction.budget import CompactionItem
from pi.ai.messages import UserMessage
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.strategies import Declined, SummaryStrategy, Work


async def test_the_summary_strategy_declines_with_a_reason_when_nothing_can_be_summarised() -> None:
    work: Any = Work(
        reason="manual",
        items=[CompactionItem.of("a", UserMessage(content="hi"))],
        tokens=1,
        threshold=10,
        preparation=None,
        why_not="Nothing to compact (session too small)",
        previous=None,
        options=CompactionOptions(),
        models=(),
        ask=lambda model: None,  # type: ignore[arg-type,return-value]
    )

    outcome = await SummaryStrategy().compact(work)

    assert outcome == Declined(
        why="Nothing to compact (session too small)", code="nothing_to_compact"
    )
