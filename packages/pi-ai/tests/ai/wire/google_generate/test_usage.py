from __future__ import annotations

from pi.ai.messages import Usage
from pi.ai.wire.google_generate.response import UsageCounter, UsageMetadata


def test_a_count_missing_in_a_later_event_is_kept() -> None:
    tally = UsageCounter()
    tally.update(UsageMetadata(prompt_token_count=9, cached_content_token_count=4))
    tally.update(UsageMetadata(candidates_token_count=2, thoughts_token_count=3))
    tally.update(UsageMetadata(candidates_token_count=5, tool_use_prompt_token_count=1))

    assert tally.usage() == Usage(input=6, output=8, cache_read=4, reasoning=3)


def test_more_cached_than_prompt_tokens_do_not_result_in_a_negative_count() -> None:
    tally = UsageCounter()
    tally.update(UsageMetadata(prompt_token_count=1, cached_content_token_count=4))

    assert tally.usage() == Usage(cache_read=4)


def test_the_usage_object_is_reused_until_a_count_changes() -> None:
    tally = UsageCounter()
    nothing = tally.usage()
    tally.update(UsageMetadata(prompt_token_count=1))
    one = tally.usage()

    assert (nothing, one) == (Usage(), Usage(input=1))
    assert tally.usage() is one
