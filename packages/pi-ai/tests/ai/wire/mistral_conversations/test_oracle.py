"""Mistral's SDK as the oracle: its requests from our payloads, and its decoded responses."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from msgspec import UNSET

from pi.ai.messages import AssistantMessage, Json, Thinking
from pi.ai.request import Call
from pi.ai.wire.mistral_conversations.request import encode, rest_body
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording
from tests.ai.wire.exchanges import exchange
from tests.ai.wire.fixed_conversation import recorded_call, recorded_payloads
from tests.ai.wire.mistral_conversations.calls import API, BASE_URL, HELLO, TURN, call, model
from tests.ai.wire.replay_server import Replay

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

CALLS = {
    **{
        row["reasoning"]: recorded_call(row, BASE_URL, signature=UNSET)
        for row in recorded_payloads(API)
    },
    "bare": call(HELLO),
    "turn": call(*TURN, session_id="S"),
    "forced": call(*TURN, temperature=0.5, tool_choice={"type": "tool", "name": "peek"}),
    "effort": call(*TURN, target=model(reasoning=True), reasoning="high", tool_choice="none"),
    "mode": call(*TURN, target=model("magistral-small", reasoning=True), reasoning="low"),
    "sampling": call(HELLO, sampling_params={"topP": 0.5, "randomSeed": 1}),
}


async def sdk(arguments: Json, answer: bytes) -> tuple[Json, list[Json]]:
    """The body that the SDK sends for ``arguments``, and the chunks it reads in ``answer``."""
    client = pytest.importorskip(
        "mistralai.client", reason="mistralai is not installed; not tested: requests like its"
    )
    bodies: list[bytes] = []

    async def script(peer: Peer) -> None:
        head = await peer.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)\r\n", head)
        assert length is not None
        bodies.append(await peer.reader.readexactly(int(length[1])))
        await peer.send(answer)
        await peer.hang_up()

    def ask(url: str) -> list[Json]:
        with (
            client.Mistral(api_key="KEY", server_url=url) as mistral,
            mistral.chat.stream(**arguments) as stream,
        ):
            return [event.data.model_dump() for event in stream]

    async with raw_server(script) as server, asyncio.timeout(60):
        chunks = await asyncio.to_thread(ask, server.url)
    return json.loads(bodies[0]), chunks


@pytest.mark.parametrize("asked", CALLS.values(), ids=CALLS.keys())
async def test_the_request_body_equals_that_of_the_sdk(asked: Call) -> None:
    ours = rest_body(encode(asked))

    theirs, _ = await sdk(ours, recording(API, "text"))

    assert ours == theirs


@pytest.mark.parametrize(
    "case",
    ["text", "thinking", "tool_call", "parallel_tools", "usage_cache", "length", "unicode"],
)
async def test_responses_are_read_as_the_sdk_reads_them(case: str) -> None:
    arguments = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    _, chunks = await sdk(arguments, recording(API, case))

    message = (await exchange(API, Replay([recording(API, case)]))).message

    assert understood(chunks) == ours(message)


def ours(message: AssistantMessage) -> Json:
    thoughts = [block.thinking for block in message.content if isinstance(block, Thinking)]
    usage = message.usage
    return {
        "text": message.text,
        "thinking": "".join(thoughts),
        "calls": [(made.id, made.name, made.arguments) for made in message.tool_calls],
        "finish": message.raw_stop_reason,
        "usage": (usage.input + usage.cache_read, usage.output, usage.total_tokens),
    }


def understood(chunks: list[Json]) -> Json:
    """The joined chunks of the SDK, in our format."""
    choices = [chunk["choices"][0] for chunk in chunks]
    contents = [choice["delta"].get("content") or "" for choice in choices]
    parts: list[Json] = [
        part
        for content in contents
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]
    usage = chunks[-1]["usage"]
    return {
        "text": "".join(part["text"] for part in parts if part["type"] == "text"),
        "thinking": "".join(
            inner["text"]
            for part in parts
            if part["type"] == "thinking"
            for inner in part["thinking"]
        ),
        "calls": [
            _call(made) for choice in choices for made in choice["delta"].get("tool_calls") or ()
        ],
        "finish": choices[-1]["finish_reason"],
        "usage": (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]),
    }


def _call(made: Json) -> tuple[Any, ...]:
    function = made["function"]
    return made["id"], function["name"], json.loads(function["arguments"])
