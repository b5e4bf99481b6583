from __future__ import annotations

import pytest

from tests.ai.wire.oracles.understanding import (
    ReadCall,
    Understood,
    every_case,
    ours,
    replayed,
)

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

API = "anthropic-messages"
STOPS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "toolUse"}


async def theirs(case: str) -> Understood:
    """Decode the recording with Anthropic's SDK."""
    anthropic = pytest.importorskip(
        "anthropic", reason="anthropic is not installed; not tested: our messages beside it"
    )
    async with (
        replayed(API, case) as url,
        anthropic.AsyncAnthropic(api_key="KEY", base_url=url, max_retries=0) as client,
        client.messages.stream(
            model="test-model", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        message = await stream.get_final_message()
    usage = message.usage
    details = usage.output_tokens_details
    return Understood(
        text="".join(block.text for block in message.content if block.type == "text"),
        thinking="".join(block.thinking for block in message.content if block.type == "thinking"),
        calls=tuple(
            ReadCall(id=block.id, name=block.name, arguments=block.input)
            for block in message.content
            if block.type == "tool_use"
        ),
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_input_tokens,
        cache_write=usage.cache_creation_input_tokens,
        reasoning=details.thinking_tokens if details else 0,
        stop=STOPS[message.stop_reason],
    )


@every_case
async def test_responses_are_read_as_the_anthropic_sdk_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)
