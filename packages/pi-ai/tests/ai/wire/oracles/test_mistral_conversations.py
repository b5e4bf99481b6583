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

API = "mistral-conversations"
STOPS = {"stop": "stop", "length": "length", "tool_calls": "toolUse"}


async def theirs(case: str) -> Understood:
    """Decode the recording with Mistral's SDK."""
    mistral = pytest.importorskip(
        "mistralai.client", reason="mistralai is not installed; not tested: our Mistral beside it"
    )
    async with (
        replayed(API, case) as url,
        mistral.Mistral(api_key="KEY", server_url=url) as client,
        await client.chat.stream_async(
            model="test-model", messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        chunks = [event.data async for event in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks]
    parts = [part for delta in deltas for part in _parts(delta.content)]
    usage = chunks[-1].usage
    # Not a declared field of the SDK: the server sends it, and the SDK keeps it.
    cached = usage.additional_properties.get("num_cached_tokens", 0)
    return Understood(
        text="".join(part.text for part in parts if part.type == "text"),
        thinking="".join(
            piece.text for part in parts if part.type == "thinking" for piece in part.thinking
        ),
        calls=tuple(
            ReadCall(
                id=call.id, name=call.function.name, arguments=json.loads(call.function.arguments)
            )
            for delta in deltas
            for call in delta.tool_calls or ()
        ),
        input=usage.prompt_tokens - cached,
        output=usage.completion_tokens,
        cache_read=cached,
        stop=STOPS[chunks[-1].choices[0].finish_reason],
    )


def _parts(content: Any) -> list[Any]:
    """The parts of a delta, which is a plain string where it is nothing but text."""
    if isinstance(content, list):
        return content
    from mistralai.client.models import TextChunk

    return [TextChunk(text=content)] if content else []


@every_case
async def test_responses_are_read_as_the_mistral_sdk_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)
