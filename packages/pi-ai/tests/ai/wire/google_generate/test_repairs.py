from __future__ import annotations

import json

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.messages import (
    AssistantMessage,
    Json,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Access, Call
from pi.ai.wire.google_generate import answer
from pi.ai.wire.google_generate.history import UNSIGNED
from pi.ai.wire.google_generate.repairs import next_repair
from pi.ai.wire_support.exchange import Services
from pi.ai.wire_support.repairs import Repairs
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording

MODEL = Model(
    id="gemini-3-pro-preview",
    name="Gemini",
    api="google-generative-ai",
    provider="google",
    reasoning=True,
)
HI = UserMessage(content="hi")


def refusal(sentence: str) -> BadRequest:
    return BadRequest(f"400: {sentence}", status=400)


@pytest.mark.parametrize(
    "sentence",
    [
        "Corrupted thought signature.",
        "Unable to submit request because Thought signature is not valid.. Learn more: …",
    ],
)
def test_a_rejected_signature_is_repaired_by_removing_thinking(sentence: str) -> None:
    signed: Json = {"contents": [{"parts": [{"text": "t", "thoughtSignature": "bad"}]}]}
    unsigned: Json = {"contents": [{"parts": [{"text": "t"}, {"thoughtSignature": UNSIGNED}]}]}

    assert next_repair(refusal(sentence), signed) == Repairs(thinking=True)
    assert next_repair(refusal(sentence), unsigned) is None
    assert next_repair(refusal("API key not valid"), signed) is None


async def asked(*messages: Message, responses: list[bytes]) -> tuple[list[Json], AssistantMessage]:
    """Send one call, send ``responses`` in order; return the bodies and the message."""
    bodies: list[Json] = []

    async def script(peer: Peer) -> None:
        bodies.append(json.loads((await peer.request()).partition(b"\r\n\r\n")[2]))
        await peer.send(responses[len(bodies) - 1])
        await peer.hang_up()

    async with raw_server(script) as server, HttpClient(environ={}) as http:
        call = Call(
            model=MODEL,
            messages=messages,
            access=Access(api_key="KEY", kind="api_key", base_url=server.url),
        )
        builder = MessageBuilder(MODEL, now_ms=0)
        services = Services(http=http, clock=FakeClock(), environ={})
        await answer(call, builder, lambda: None, services)
    assert builder.final is not None
    return bodies, builder.final


def signatures(body: Json) -> list[str]:
    """All signatures in a request, in order."""
    parts = [part for content in body["contents"] for part in content["parts"]]
    return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]


@pytest.mark.behaviour("rejected-signature-heals")
async def test_rejected_signatures_are_removed_and_never_sent_again() -> None:
    error = {"error": {"code": 400, "message": "Corrupted thought signature."}}
    refused = b"HTTP/1.1 400 Bad Request\r\n\r\n" + json.dumps(error).encode()
    earlier_answer = AssistantMessage(
        content=(
            Thinking(thinking="hm", thinking_signature="YmFk"),
            Text(text="so", text_signature="YmFk"),
            ToolCall(id="c", name="peek", arguments={}, thought_signature="YmFk"),
        ),
        api=MODEL.api,
        provider=MODEL.provider,
        model=MODEL.id,
    )
    result = ToolResultMessage(tool_call_id="c", tool_name="peek", content=(Text(text="R"),))
    history = (HI, earlier_answer, result)

    bodies, healed = await asked(*history, responses=[refused, recording(MODEL.api, "thinking")])
    later, _ = await asked(*history, healed, HI, responses=[recording(MODEL.api, "text")])

    assert [note["type"] for note in healed.diagnostics or ()] == ["thinking_signature_rejected"]
    assert [signatures(body) for body in (*bodies, *later)] == [
        ["YmFk", "YmFk", "YmFk"],
        [UNSIGNED],  # the call of the current turn needs a signature
        ["c2ln", "dGV4dA=="],  # signatures received since then
    ]
