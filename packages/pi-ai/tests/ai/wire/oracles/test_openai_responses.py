from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ai.wire.oracles.understanding import (
    ReadCall,
    Understood,
    every_case,
    ours,
    replayed,
)

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

API = "openai-responses"


async def theirs(case: str) -> Understood:
    """Decode the recording with OpenAI's SDK."""
    openai = pytest.importorskip(
        "openai", reason="openai is not installed; not tested: our responses beside it"
    )
    async with (
        replayed(API, case) as url,
        openai.AsyncOpenAI(api_key="KEY", base_url=url, max_retries=0) as client,
        await client.responses.create(model="test-model", input="hi", stream=True) as stream,
    ):
        events = [event async for event in stream]
    response = events[-1].response
    calls = [item for item in response.output if item.type == "function_call"]
    usage = response.usage
    cached = usage.input_tokens_details.cached_tokens
    written = usage.input_tokens_details.cache_write_tokens
    return Understood(
        text=_joined(events, "response.output_text.delta"),
        thinking=_joined(events, "response.reasoning_summary_text.delta"),
        calls=tuple(
            ReadCall(
                id=f"{call.call_id}|{call.id}",  # our id joins the two ids of the SDK
                name=call.name,
                arguments=json.loads(call.arguments),
            )
            for call in calls
        ),
        input=usage.input_tokens - cached - written,
        output=usage.output_tokens,
        cache_read=cached,
        cache_write=written,
        reasoning=usage.output_tokens_details.reasoning_tokens,
        stop=_stop(response, called=bool(calls)),
    )


def _joined(events: list[Any], kind: str) -> str:
    return "".join(event.delta for event in events if event.type == kind)


def _stop(response: Any, *, called: bool) -> str:
    """The protocol has no stop reason: it is derived from status and output."""
    if response.status == "incomplete":
        return {"max_output_tokens": "length"}[response.incomplete_details.reason]
    assert response.status == "completed"
    return "toolUse" if called else "stop"


@every_case
async def test_responses_are_read_as_the_openai_sdk_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)
