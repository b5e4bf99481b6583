from __future__ import annotations

import msgspec

from pi.coding.session.numbers import ContextUsage, SessionStats, TokenTotals


def test_numbers_have_the_names_of_the_protocol() -> None:
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
