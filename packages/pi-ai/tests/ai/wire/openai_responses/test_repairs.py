from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Message
from pi.ai.wire.openai_responses.repairs import next_repair
from pi.ai.wire.openai_responses.request import encode
from pi.ai.wire_support.repairs import STRICT_REJECTED, THINKING_REJECTED, Repairs
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.talk import asks, call, model, own, result, thought, tool, user

THOUGHTFUL = {"input": [{"type": "reasoning", "id": "rs_1"}]}
STRICT_TOOLS = {"tools": [{"type": "function", "name": "a", "strict": True}]}


def refusal(message: str, status: int | None = 400) -> BadRequest:
    return BadRequest(message, status=status)


@pytest.mark.behaviour("rejected-signature-heals")
@pytest.mark.parametrize(
    "message",
    [
        '400: {"message":"The encrypted content gAAA could not be verified.",'
        '"code":"invalid_encrypted_content"}',
        "400: {\"message\":\"Item 'rs_1' of type 'reasoning' was provided without its required "
        'following item."}',
        '400: {"message":"Item with id \'rs_1\' not found."}',
    ],
)
def test_a_rejected_reasoning_item_is_repaired_by_removing_thinking(message: str) -> None:
    assert next_repair(refusal(message), THOUGHTFUL) == Repairs(thinking=True)
    assert next_repair(refusal(message), {"input": []}) is None


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_a_rejected_schema_is_repaired_by_removing_strict() -> None:
    refused = refusal('400: {"message":"Invalid schema for function \'a\': …"}')

    assert next_repair(refused, STRICT_TOOLS) == Repairs(strict=True)
    assert next_repair(refused, {"tools": [{"strict": False}]}) is None


def test_other_rejections_and_errors_inside_a_stream_are_not_repaired() -> None:
    assert next_repair(refusal("400: no such model"), THOUGHTFUL | STRICT_TOOLS) is None
    assert next_repair(refusal("invalid_encrypted_content", status=None), THOUGHTFUL) is None


@pytest.mark.behaviour("rejected-signature-heals")
def test_thinking_before_a_recorded_repair_is_removed_with_the_ids_that_follow() -> None:
    note: Json = {"type": THINKING_REJECTED, "timestamp": 1}
    messages: tuple[Message, ...] = (
        user("a"),
        own(thought(id="rs_1", encrypted_content="E"), asks("call_1|fc_1")),
        result("call_1|fc_1", "R"),
        own(thought(id="rs_2", encrypted_content="E"), "so", diagnostics=(note,)),
        user("b"),
    )

    types = [
        (item.get("type"), item.get("id"))
        for item in encode(call(*messages))["input"]
        if item.get("role") != "user"
    ]

    assert types == [
        ("function_call", None),
        ("function_call_output", None),
        ("reasoning", "rs_2"),
        ("message", "msg_pi_3"),
    ]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_a_session_with_a_recorded_schema_rejection_sends_loose_tools() -> None:
    noted = own("so", diagnostics=({"type": STRICT_REJECTED},))
    strict = model({"supportsStrictMode": True})
    tools = talk.system("", tool(sampling=talk.STRICT))

    before, after = (encode(call(tools, *more, model=strict)) for more in ((), (noted,)))

    assert (before["tools"][0]["strict"], after["tools"][0]["strict"]) == (True, False)
