from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.http.client import HttpClient
from pi.ai.messages import Text, Thinking, UserMessage
from pi.ai.request import Access, Call
from pi.ai.wire.google_generate import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording
from tests.ai.wire.google_generate.recorded_calls import HISTORY_MODEL
from tests.ai.wire.google_generate.test_oracle_requests import sdk_request

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

CASES = ["text", "thinking", "tool_call", "parallel_tools", "usage_cache", "length", "unicode"]


async def understood_by_sdk(base_url: str) -> dict[str, Any]:
    """What Google's SDK makes of the answer."""
    genai = pytest.importorskip(
        "google.genai", reason="google-genai is not installed; not tested: answers against its own"
    )

    def ask() -> list[Any]:
        with genai.Client(api_key="KEY", http_options={"base_url": base_url}) as sdk:
            return list(sdk.models.generate_content_stream(model="m", contents="ask"))

    chunks = await asyncio.to_thread(ask)
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    usage = chunks[-1].usage_metadata
    return {
        "text": "".join(part.text for part in parts if part.text and not part.thought),
        "thinking": "".join(part.text for part in parts if part.text and part.thought),
        "calls": [(call.id, call.name, call.args) for call in calls],
        "stop": chunks[-1].candidates[0].finish_reason.value,
        "input": usage.prompt_token_count,
        "cached": usage.cached_content_token_count or 0,
        "output": usage.candidates_token_count + (usage.thoughts_token_count or 0),
        "total": usage.total_token_count,
    }


async def understood_by_us(base_url: str) -> dict[str, Any]:
    """The same facts from our own message."""
    call = Call(
        model=replace(HISTORY_MODEL, base_url=base_url),
        messages=(UserMessage(content="ask"),),
        access=Access(api_key="KEY", kind="api_key"),
    )
    builder = MessageBuilder(call.model, now_ms=0)
    async with HttpClient(environ={}) as http:
        services = Services(http=http, clock=FakeClock(), environ={})
        await answer(call, builder, lambda: None, services)
    message = builder.message()
    usage = message.usage
    thoughts = [block.thinking for block in message.content if isinstance(block, Thinking)]
    return {
        "text": "".join(block.text for block in message.content if isinstance(block, Text)),
        "thinking": "".join(thoughts),
        "calls": [(call.id, call.name, call.arguments) for call in message.tool_calls],
        "stop": message.raw_stop_reason,
        "input": usage.input + usage.cache_read,
        "cached": usage.cache_read,
        "output": usage.output,
        "total": usage.total_tokens,
    }


@pytest.mark.parametrize("case", CASES)
async def test_responses_are_read_as_the_sdk_reads_them(case: str) -> None:
    async def script(peer: Peer) -> None:
        await sdk_request(peer)
        await peer.send(recording("google-generative-ai", case))
        await peer.hang_up()

    async with raw_server(script) as server, asyncio.timeout(30):
        assert await understood_by_us(server.url) == await understood_by_sdk(server.url)
