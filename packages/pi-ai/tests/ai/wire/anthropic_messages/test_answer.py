"""The entry point of the wire, over a real connection."""

from __future__ import annotations

import asyncio
import json

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json, Message, Thinking
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.anthropic_messages import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.anthropic_messages.talk import PLAIN, model, own, system, tool, user
from tests.ai.wire.conformance import RECORDINGS

TEXT = (RECORDINGS / "anthropic-messages" / "text.http").read_bytes()
THINKING = (RECORDINGS / "anthropic-messages" / "thinking.http").read_bytes()
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
SCHEMA = "tools.0.custom.input_schema: JSON schema is invalid"
TALK = (
    system("S", tool("a", {"type": "json_schema", "strict": "prefer"})),
    user("1"),
    own(Thinking(thinking="hm", thinking_signature="bad"), "t"),
    user("2"),
)


def refusal(sentence: str) -> bytes:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": sentence}}
    head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n"
    return head.encode() + json.dumps(error).encode()


class ScriptedExchange:
    """One request to a scripted server, and all requests that it received."""

    def __init__(self, *responses: bytes) -> None:
        self.responses = list(responses)
        self.heads: list[str] = []
        self.bodies: list[Json] = []

    async def serve(self, peer: Peer) -> None:
        head, _, body = (await peer.request()).partition(b"\r\n\r\n")
        self.heads.append(head.decode())
        self.bodies.append(json.loads(body))
        await peer.send(self.responses.pop(0))
        await peer.hang_up()

    async def ask(
        self, *messages: Message, target: Model = PLAIN, options: StreamOptions | None = None
    ) -> MessageBuilder:
        clock = FakeClock(now_ms=7)
        builder = MessageBuilder(target, now_ms=0)
        async with (
            asyncio.timeout(30),
            raw_server(self.serve) as server,
            HttpClient(environ={}) as http,
        ):
            call = Call(
                model=replace(target, base_url=server.url),
                messages=messages,
                options=options or StreamOptions(),
                access=Access(api_key="KEY", kind="api_key"),
            )
            await answer(call, builder, lambda: None, Services(http=http, clock=clock, environ={}))
        return builder


def diagnostic(kind: str, sentence: str) -> Json:
    shown = json.dumps(
        {"type": "invalid_request_error", "message": sentence}, separators=(",", ":")
    )
    return {"type": kind, "timestamp": 7, "error": {"message": f"400: {shown}"}}


@pytest.mark.behaviour("rejected-signature-heals")
async def test_a_rejected_signature_is_removed_and_never_sent_again() -> None:
    first = ScriptedExchange(refusal(SIGNATURE), THINKING)
    later = ScriptedExchange(TEXT)

    builder = await first.ask(*TALK)
    assert builder.final is not None
    await later.ask(*TALK, builder.final, user("3"))

    assert builder.final.text == "42."
    assert builder.final.diagnostics == (diagnostic("thinking_signature_rejected", SIGNATURE),)
    assert [[kinds(body) for body in turn.bodies] for turn in (first, later)] == [
        [[["thinking", "text"]], [["text"]]],
        [[["text"], ["thinking", "text"]]],
    ]


def kinds(body: Json) -> list[list[str]]:
    """The types of the blocks of every answer in a request."""
    return [
        [block["type"] for block in message["content"]]
        for message in body["messages"]
        if message["role"] == "assistant"
    ]


@pytest.mark.behaviour("strict-schemas-only-where-accepted", "bad-schema-is-isolated")
async def test_a_rejected_schema_is_sent_without_strict_first_and_then_without_its_tool() -> None:
    first = ScriptedExchange(refusal(SCHEMA), refusal(SCHEMA), TEXT)

    builder = await first.ask(*TALK, target=model({"supportsStrictTools": True}))

    offered = [
        [(entry["name"], entry.get("strict")) for entry in body.get("tools", [])]
        for body in first.bodies
    ]
    assert offered == [[("a", True)], [("a", None)], []]
    assert builder.diagnostics == [
        diagnostic("strict_schema_rejected", SCHEMA),
        diagnostic("tool_schema_rejected", SCHEMA),
    ]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_rejected_strict_tools_are_not_sent_again_in_the_session() -> None:
    strict = model({"supportsStrictTools": True})
    first = ScriptedExchange(refusal(SCHEMA), TEXT)
    later = ScriptedExchange(TEXT)

    builder = await first.ask(*TALK, target=strict)
    assert builder.final is not None
    await later.ask(*TALK, builder.final, user("3"), target=strict)

    assert [["strict" in body["tools"][0] for body in turn.bodies] for turn in (first, later)] == [
        [True, False],
        [False],
    ]


async def test_a_request_rejected_twice_raises() -> None:
    first = ScriptedExchange(refusal(SIGNATURE), refusal(SIGNATURE))

    with pytest.raises(BadRequest, match="Invalid `signature`"):
        await first.ask(*TALK)

    assert len(first.bodies) == 2


async def test_beta_features_are_sent_in_a_header_after_the_payload_hook() -> None:
    async def add(payload: Json, _: Model) -> Json:
        return {**payload, "betas": [*payload["betas"], "mine-2026-01-01"]}

    first = ScriptedExchange(TEXT)
    options = StreamOptions(reasoning="low", on_payload=add)

    await first.ask(user("hi"), options=options)

    assert "betas" not in first.bodies[0]
    assert "anthropic-beta: interleaved-thinking-2025-05-14,mine-2026-01-01\r\n" in first.heads[0]


async def test_the_effort_is_stored_with_the_answer_if_the_model_can_change_it() -> None:
    changing = model({"forceAdaptiveThinking": True, "supportsMidConvoEffort": True})

    builder = await ScriptedExchange(TEXT).ask(
        user("hi"), target=changing, options=StreamOptions(reasoning="low")
    )

    assert builder.final is not None
    assert builder.final.provider_thinking_level == "low"
