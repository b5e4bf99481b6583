from __future__ import annotations

import json

import pytest

from tests.ai.wire.oracles.understanding import (
    ReadCall,
    Understood,
    every_case,
    ours,
    replayed,
)

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

API = "openai-completions"
STOPS = {"stop": "stop", "length": "length", "tool_calls": "toolUse"}


async def theirs(case: str) -> Understood:
    """Decode the recording with OpenAI's SDK."""
    openai = pytest.importorskip(
        "openai", reason="openai is not installed; not tested: our chat completions beside it"
    )
    async with (
        replayed(API, case) as url,
        openai.AsyncOpenAI(api_key="KEY", base_url=url, max_retries=0) as client,
        client.chat.completions.stream(
            model="test-model",
            messages=[{"role": "user", "content": "hi"}],
            stream_options={"include_usage": True},
        ) as stream,
    ):
        try:
            completion = await stream.get_final_completion()
        except openai.LengthFinishReasonError as cut:
            completion = cut.completion
    (choice,) = completion.choices
    usage = completion.usage
    cached = usage.prompt_tokens_details.cached_tokens
    return Understood(
        text=choice.message.content,
        # Not a declared field of the SDK: servers other than OpenAI send it, and the SDK keeps it.
        thinking=(choice.message.model_extra or {}).get("reasoning_content", ""),
        calls=tuple(
            ReadCall(
                id=call.id, name=call.function.name, arguments=json.loads(call.function.arguments)
            )
            for call in choice.message.tool_calls or ()
        ),
        input=usage.prompt_tokens - cached,
        output=usage.completion_tokens,
        cache_read=cached,
        reasoning=usage.completion_tokens_details.reasoning_tokens,
        stop=STOPS[choice.finish_reason],
    )


@every_case
async def test_chat_completions_are_read_as_the_openai_sdk_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)
