from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Message, SystemMessage, Text, Thinking
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.repairs import next_repair
from pi.ai.wire.bedrock_converse.request import encode
from pi.ai.wire_support.repairs import THINKING_REJECTED, Repairs
from pi.base.records import replace
from tests.ai.wire.bedrock_converse.calls import (
    HELLO,
    OPUS,
    SONNET,
    assistant_message,
    call,
    model,
    peek,
    result,
)
from tests.ai.wire.fixed_conversation import PEEK

SIGNATURE = BadRequest("400: Invalid `signature` in `thinking` block", status=400)
SCHEMA = BadRequest("400: The schema is not valid", status=400)
STRICT = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})
THOUGHT = Thinking(thinking="hm", thinking_signature="c2ln")


def talk(*later: Message, id: str = SONNET) -> Call:
    """A request with strict tools and a call after thinking."""
    target = model(id, compat={"supportsStrictMode": True})
    return call(
        SystemMessage(content="S", tools_added=(STRICT,)),
        HELLO,
        assistant_message(THOUGHT, peek(), by=target),
        result("call_1", Text(text="R")),
        *later,
        target=target,
        reasoning="high",
    )


def answers(payload: Json) -> list[list[str]]:
    """The kinds of the blocks of every answer in a request."""
    return [
        [kind for block in message["content"] for kind in block]
        for message in payload["messages"]
        if message["role"] == "assistant"
    ]


def test_a_rejected_signature_is_repaired_by_removing_thinking() -> None:
    assert next_repair(SIGNATURE, encode(talk())) == Repairs(thinking=True)
    assert answers(encode(talk())) == [["reasoningContent", "toolUse"]]
    assert answers(encode(talk(), Repairs(thinking=True))) == [["toolUse"]]


def test_an_answer_with_only_rejected_thinking_is_left_out() -> None:
    alone = assistant_message(THOUGHT, by=model(SONNET))

    assert answers(encode(talk(alone), Repairs(thinking=True))) == [["toolUse"]]


def test_missing_thinking_before_the_latest_calls_disables_only_a_thinking_budget() -> None:
    new_turn = (assistant_message(THOUGHT, Text(text="so"), by=model(SONNET)), HELLO)

    fields = [
        encode(asked, Repairs(thinking=True)).get("additionalModelRequestFields", {})
        for asked in (talk(), talk(id=OPUS), talk(*new_turn))
    ]

    assert [one.get("thinking", {}).get("type") for one in fields] == [None, "adaptive", "enabled"]


@pytest.mark.behaviour("rejected-signature-heals")
def test_thinking_from_before_a_recorded_rejection_is_removed_and_later_is_sent() -> None:
    noted = replace(
        assistant_message(THOUGHT, Text(text="so"), by=model(SONNET)),
        diagnostics=({"type": THINKING_REJECTED},),
    )

    payload = encode(talk(noted, HELLO))

    assert answers(payload) == [["toolUse"], ["reasoningContent", "text"]]
    assert payload["additionalModelRequestFields"]["thinking"]["type"] == "enabled"


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_rejected_strict_schemas_become_loose() -> None:
    assert next_repair(SCHEMA, encode(talk())) == Repairs(strict=True)

    loose = encode(talk(), Repairs(strict=True))

    assert "strict" not in loose["toolConfig"]["tools"][0]["toolSpec"]
    assert next_repair(SCHEMA, loose) is None


def test_rejections_without_a_matching_repair_or_a_status_are_not_repaired() -> None:
    assert next_repair(SIGNATURE, encode(call(HELLO))) is None
    assert next_repair(SCHEMA, encode(call(HELLO))) is None
    assert next_repair(BadRequest("signature"), encode(talk())) is None
