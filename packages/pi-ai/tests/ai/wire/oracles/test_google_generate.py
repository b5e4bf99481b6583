from __future__ import annotations

import asyncio
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

API = "google-generative-ai"


async def theirs(case: str) -> Understood:
    """Decode the recording with Google's SDK."""
    genai = pytest.importorskip(
        "google.genai", reason="google-genai is not installed; not tested: our Gemini beside it"
    )

    def ask(base_url: str) -> list[Any]:
        with genai.Client(api_key="KEY", http_options={"base_url": base_url}) as client:
            return list(client.models.generate_content_stream(model="test-model", contents="hi"))

    async with replayed(API, case) as url:
        chunks = await asyncio.to_thread(ask, url)
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    usage = chunks[-1].usage_metadata
    cached, thoughts = usage.cached_content_token_count or 0, usage.thoughts_token_count or 0
    return Understood(
        text="".join(part.text for part in parts if part.text and not part.thought),
        thinking="".join(part.text for part in parts if part.text and part.thought),
        calls=tuple(ReadCall(id=call.id, name=call.name, arguments=call.args) for call in calls),
        input=usage.prompt_token_count - cached,
        output=usage.candidates_token_count + thoughts,
        cache_read=cached,
        reasoning=thoughts,
        stop=_stop(chunks[-1].candidates[0].finish_reason, called=bool(calls)),
    )


def _stop(reason: str, *, called: bool) -> str:
    """Google has one finish reason for a final answer and for one with tool calls."""
    if called:
        assert reason == "STOP"
        return "toolUse"
    return {"STOP": "stop", "MAX_TOKENS": "length"}[reason]


@every_case
async def test_responses_are_read_as_the_google_sdk_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)
