from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.wire.anthropic_messages.repairs import next_repair
from pi.ai.wire_support.repairs import Repairs

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "x"}
PAYLOAD: Json = {
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "t"}]},
        {"role": "system", "content": []},
    ],
    "tools": [{"name": "a"}, {"name": "b"}],
}
STRICT_PAYLOAD: Json = {"messages": [], "tools": [{"name": "a", "strict": True}]}


def refusal(sentence: str) -> BadRequest:
    return BadRequest(f'400: {{"type":"invalid_request_error","message":"{sentence}"}}', status=400)


@pytest.mark.parametrize(
    "sentence",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block.",
        "messages.1.content.0.thinking.signature: Field required",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified.",
    ],
)
def test_a_rejected_signature_is_repaired_by_removing_thinking(sentence: str) -> None:
    assert next_repair(refusal(sentence), PAYLOAD) == Repairs(thinking=True)
    assert next_repair(refusal(sentence), STRICT_PAYLOAD) is None


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@pytest.mark.parametrize(
    "sentence",
    [
        "tools.0.custom.strict: Extra inputs are not permitted",
        "The compiled grammar is too large",
        "tools.0.custom.input_schema: For 'object' type, 'additionalProperties' must be false",
    ],
)
def test_rejected_strict_tools_are_repaired_by_removing_strict(sentence: str) -> None:
    assert next_repair(refusal(sentence), STRICT_PAYLOAD) == Repairs(strict=True)


@pytest.mark.behaviour("bad-schema-is-isolated")
def test_a_rejected_schema_is_repaired_by_dropping_its_tool() -> None:
    invalid = refusal("tools.1.custom.input_schema: JSON schema is invalid")

    assert next_repair(invalid, PAYLOAD) == Repairs(tools=frozenset({"b"}))
    assert next_repair(invalid, {**PAYLOAD, "tools": []}) is None


def test_other_rejections_are_not_repaired() -> None:
    assert next_repair(refusal("max_tokens: must be positive"), PAYLOAD) is None
