from __future__ import annotations

import json
from typing import Literal

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json, SystemMessage, ToolCall, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.google_generate import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.fixed_conversation import PEEK
from tests.ai.wire.google_generate.recorded_calls import HISTORY_MODEL
from tests.ai.wire.replay_server import Replay, replaying
from tests.sampling import sampled

FLATTENED = {
    "candidates": [
        {
            "content": {"parts": [{"functionCall": {"name": "peek", "args": {"path[0]": "x"}}}]},
            "finishReason": "STOP",
        }
    ]
}


async def test_the_payload_hook_can_change_the_model(http: HttpClient) -> None:
    requests: list[bytes] = []
    seen: list[Json] = []

    async def script(peer: Peer) -> None:
        requests.append(await peer.request())
        event = b"data: " + json.dumps(FLATTENED).encode() + b"\n\n"
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + event)

    async def hook(payload: Json, model: Model) -> Json:
        seen.append(payload)
        return {**payload, "model": "other", "config": {"topK": 1}}

    async with raw_server(script) as server:
        call = Call(
            model=replace(HISTORY_MODEL, base_url=server.url),
            messages=(SystemMessage(content="S", tools_added=(PEEK,)), UserMessage(content="ask")),
            options=StreamOptions(on_payload=hook),
            access=Access(api_key="KEY", kind="api_key"),
        )
        builder = MessageBuilder(call.model, now_ms=0)
        services = Services(http=http, clock=FakeClock(), environ={})

        await answer(call, builder, lambda: None, services)

    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /models/other:streamGenerateContent?alt=sse HTTP/1.1\r\n")
    assert json.loads(body) == {
        "contents": [{"role": "user", "parts": [{"text": "ask"}]}],
        "generationConfig": {"topK": 1},
    }
    assert [payload["model"] for payload in seen] == ["m"]
    assert builder.final is not None
    assert builder.final.content == (
        ToolCall(id="call_0_0", name="peek", arguments={"path": ["x"]}),
    )


@pytest.mark.full
@pytest.mark.behaviour("terminal-event-ends-the-stream")
@pytest.mark.parametrize("ending", sampled(["hold", "close", "reset"], keep=1))
async def test_a_finish_reason_with_every_event_does_not_end_the_answer(
    http: HttpClient, ending: Literal["hold", "close", "reset"]
) -> None:
    events = [
        b"data: " + json.dumps(_chunk(word)).encode() + b"\r\n\r\n"
        for word in ("one ", "two ", "three")
    ]
    pieces = [b"HTTP/1.1 200 OK\r\n\r\n", *events]

    async with replaying(Replay(pieces, then=ending)) as server:
        call = Call(
            model=replace(HISTORY_MODEL, base_url=server.url),
            messages=(UserMessage(content="count"),),
            options=StreamOptions(),
            access=Access(api_key="KEY", kind="api_key"),
        )
        builder = MessageBuilder(call.model, now_ms=0)
        services = Services(http=http, clock=FakeClock(), environ={})

        await answer(call, builder, lambda: None, services)

    assert builder.final is not None
    assert builder.final.text == "one two three"
    assert builder.final.stop_reason == "stop"


def _chunk(word: str) -> Json:
    return {"candidates": [{"content": {"parts": [{"text": word}]}, "finishReason": "STOP"}]}
