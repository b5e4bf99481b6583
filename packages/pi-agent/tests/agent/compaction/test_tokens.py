from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.budget import (
    CompactionSettings,
    context_tokens,
    estimate_tokens,
    reported_tokens,
    should_compact,
    threshold,
    tokens_to_keep,
)
from pi.ai.messages import AssistantMessage, Image, Text, Thinking, Usage, UserMessage
from tests.agent.compaction.conversations import shown

QUESTION = UserMessage(content="y" * 400)
COUNTED = AssistantMessage(content=(Text(text="x" * 40),), usage=Usage(total_tokens=5000))
PARTS = AssistantMessage(usage=Usage(input=1, output=2, cache_read=3, cache_write=4))


@pytest.mark.behaviour("estimates-count-everything")
def test_pictures_custom_messages_and_thinking_signatures_are_counted() -> None:
    picture = Image(data="AA==", mime_type="image/png")
    thought = Thinking(thinking="1234", thinking_signature="5678")

    assert estimate_tokens("12345") == 2
    assert estimate_tokens(UserMessage(content=(Text(text="1234"), picture))) == 1201
    assert estimate_tokens(AssistantMessage(content=(thought,))) == 2
    assert shown("1", "custom", "12345678").tokens == 2


def test_the_token_count_of_the_provider_is_used_and_later_messages_are_estimated() -> None:
    assert context_tokens((QUESTION, COUNTED, QUESTION)) == 5100
    assert context_tokens((QUESTION, PARTS)) == 10
    assert reported_tokens((QUESTION, COUNTED, QUESTION)) == 5100


@pytest.mark.behaviour("old-usage-does-not-trigger")
def test_a_count_from_before_the_compaction_is_not_used() -> None:
    kept = (QUESTION, COUNTED)

    assert context_tokens(kept, compacted=2) == 110
    assert context_tokens((*kept, QUESTION), compacted=2) == 210
    assert context_tokens((*kept, QUESTION, COUNTED), compacted=2) == 5000
    assert reported_tokens((QUESTION,)) is None


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_the_usage_of_a_failed_answer_is_not_counted(reason: str) -> None:
    failed = AssistantMessage(usage=Usage(total_tokens=9000), stop_reason=reason)  # type: ignore[arg-type]

    assert context_tokens((QUESTION, failed)) == 100


def test_a_conversation_is_compacted_when_the_reserve_is_touched() -> None:
    settings = CompactionSettings()

    assert not should_compact(200_000 - 16_384, 200_000, settings)
    assert should_compact(200_000 - 16_383, 200_000, settings)
    assert not should_compact(1_000_000, 0, settings)


def test_percent_and_tokens_beat_the_reserve() -> None:
    assert threshold(200_000, CompactionSettings(threshold_percent=60)) == 120_000
    assert threshold(200_000, CompactionSettings(threshold_percent=60, threshold_tokens=50)) == 50
    assert threshold(200_000, CompactionSettings(threshold_tokens=900_000)) == 200_000


@given(window=st.integers(1, 2_000_000), reserve=st.integers(0, 100_000))
def test_the_threshold_is_at_least_a_quarter_of_the_window_and_twice_the_kept_tokens(
    window: int, reserve: int
) -> None:
    settings = CompactionSettings(reserve_tokens=reserve)

    assert threshold(window, settings) >= window // 4
    assert tokens_to_keep(window, settings) <= threshold(window, settings) // 2


def test_the_kept_tokens_follow_the_settings_unless_the_window_is_small() -> None:
    assert tokens_to_keep(200_000, CompactionSettings()) == 20_000
    assert tokens_to_keep(0, CompactionSettings()) == 20_000
    assert tokens_to_keep(32_000, CompactionSettings()) == 7808
