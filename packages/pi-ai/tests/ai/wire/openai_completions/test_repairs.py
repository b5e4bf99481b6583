from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Text, Thinking, UserMessage
from pi.ai.wire.openai_completions.repairs import next_repair
from pi.ai.wire.openai_completions.request import encode
from pi.ai.wire_support.repairs import THINKING_REJECTED, Repairs
from pi.base.records import replace
from tests.ai.wire.openai_completions.chats import answered, call_with, peeked, resulted

HI = UserMessage(content="hi")

REFUSAL = BadRequest("400: no", status=400)
SIGNATURE = BadRequest("400: Invalid `signature` in `thinking` block", status=400)


@pytest.mark.parametrize("field", ["reasoning_details", "reasoning_opaque"])
def test_a_rejected_signature_is_repaired_by_removing_thinking(field: str) -> None:
    messages = [{"role": "user"}, {"role": "assistant", field: "x"}]

    assert next_repair(SIGNATURE, {"messages": messages}) == Repairs(thinking=True)
    assert next_repair(SIGNATURE, {"messages": messages[:1]}) is None
    assert next_repair(REFUSAL, {"messages": messages}) is None


@pytest.mark.behaviour("rejected-signature-heals")
def test_rejected_signatures_of_thinking_and_calls_are_never_sent_again() -> None:
    detail = '{"type":"reasoning.encrypted","data":"x"}'
    thought = Thinking(thinking="hm", thinking_signature='{"reasoning_opaque":"x"}')
    signed = replace(peeked("c"), thought_signature=detail)
    history = (HI, answered(thought, Text(text="so")), HI, answered(signed), resulted("c"))
    healed = replace(answered(thought), diagnostics=({"type": THINKING_REJECTED},))

    now = encode(call_with(*history), Repairs(thinking=True))["messages"]
    later = encode(call_with(*history, healed, answered(thought, Text(text="on"))))["messages"]

    assert [sorted(message) for message in now if message["role"] == "assistant"] == [
        ["content", "role"],
        ["content", "role", "tool_calls"],
    ]
    assert later == [
        *now,
        {
            "role": "assistant",
            "content": "on",
            "reasoning_text": "hm",
            "reasoning_opaque": "x",
        },
    ]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_a_rejected_request_with_strict_tools_is_repaired_by_removing_strict() -> None:
    tools = [{"type": "custom"}, {"type": "function", "function": {"name": "a", "strict": True}}]

    assert next_repair(REFUSAL, {"tools": tools}) == Repairs(strict=True)


@pytest.mark.parametrize(
    "payload",
    [{}, {"tools": [{"type": "function", "function": {"strict": False}}]}, {"tools": ["odd"]}],
)
def test_a_rejected_request_without_strict_tools_is_not_repaired(
    payload: dict[str, object],
) -> None:
    assert next_repair(REFUSAL, payload) is None
