from __future__ import annotations

import msgspec

from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage
from pi.base.records import replace
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    Entry,
    Label,
    MessageEntry,
    UsageEntry,
)
from pi.coding.session.statistics import ContextUsage, SessionStats, TokenTotals, usage_of

SPENT = Usage(input=1)
RESULT = ToolResultMessage(tool_call_id="c", tool_name="ask", content=())


def test_session_stats_have_the_names_of_the_protocol() -> None:
    stats = SessionStats(
        session_id="s",
        user_messages=1,
        assistant_messages=2,
        tool_calls=3,
        tool_results=3,
        total_messages=6,
        tokens=TokenTotals(input=1, output=2, total=3),
        cost=0.5,
        context_usage=ContextUsage(tokens=None, context_window=5, percent=None),
    )

    assert msgspec.to_builtins(stats) == {
        "sessionId": "s",
        "userMessages": 1,
        "assistantMessages": 2,
        "toolCalls": 3,
        "toolResults": 3,
        "totalMessages": 6,
        "tokens": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "total": 3},
        "cost": 0.5,
        "contextUsage": {"tokens": None, "contextWindow": 5, "percent": None},
    }


def test_only_entries_that_used_a_model_have_usage() -> None:
    entries: list[Entry] = [
        MessageEntry(message=AssistantMessage(usage=SPENT)),
        MessageEntry(message=replace(RESULT, usage=SPENT)),
        Compaction(summary="s", first_kept_id="e", tokens_before=1, usage=SPENT),
        BranchSummary(from_id="e", summary="s", usage=SPENT),
        UsageEntry(kind="warming", provider="p", model="m", usage=SPENT),
    ]
    others: list[Entry] = [
        MessageEntry(message=UserMessage(content="hi")),
        MessageEntry(message=RESULT),
        Compaction(summary="s", first_kept_id="e", tokens_before=1),
        BranchSummary(from_id="e", summary="s"),
        Label(target_id="e"),
    ]

    assert [*map(usage_of, entries)] == [SPENT] * len(entries)
    assert [*map(usage_of, others)] == [None] * len(others)
