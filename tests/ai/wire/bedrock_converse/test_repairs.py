from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, SystemMessage, Text, Thinking
from pi.ai.wire.bedrock_converse.repairs import next_repair, without_thoughts
from pi.ai.wire.bedrock_converse.request import encode
from pi.base.records import replace
from tests.ai.wire.bedrock_converse.calls import HELLO, SONNET, call, model, peek, result, said
from tests.ai.wire.fixed_conversation import PEEK

SIGNATURE = BadRequest("400: Invalid `signature` in `thinking` block", status=400)
SCHEMA = BadRequest("400: The schema is not valid", status=400)
STRICT = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})
THOUGHT = Thinking(thinking="hm", thinking_signature="c2ln")


def payload(id: str = SONNET) -> Json:
    """A request with strict tools and two thoughts, one of them alone in its message."""
    target = model(id, compat={"supportsStrictMode": True})
    return encode(
        call(
            SystemMessage(content="S", tools_added=(STRICT,)),
            HELLO,
            said(THOUGHT, peek(), by=target),
            result("call_1", Text(text="R")),
            said(THOUGHT, by=target),
            target=target,
            reasoning="high",
        )
    )


def test_thoughts_with_a_refused_signature_are_left_out() -> None:
    repair = next_repair(SIGNATURE, payload())

    assert repair is not None
    kind, repaired = repair
    assert kind == "thinking_signature_rejected"
    assert [message["role"] for message in repaired["messages"]] == ["user", "assistant", "user"]
    assert [list(block) for block in repaired["messages"][1]["content"]] == [["toolUse"]]
    assert without_thoughts(repaired) is None


def test_only_a_budget_needs_the_thoughts_that_were_left_out() -> None:
    budget = without_thoughts(payload(SONNET))
    effort = without_thoughts(payload("us.anthropic.claude-opus-4-6-v1"))

    assert budget is not None
    assert effort is not None
    assert "additionalModelRequestFields" not in budget
    assert "additionalModelRequestFields" in effort


@pytest.mark.trap(21)
def test_strict_schemas_that_were_refused_become_loose() -> None:
    repair = next_repair(SCHEMA, payload())

    assert repair is not None
    kind, repaired = repair
    assert kind == "strict_schema_rejected"
    assert "strict" not in repaired["toolConfig"]["tools"][0]["toolSpec"]
    assert next_repair(SCHEMA, repaired) is None


def test_what_was_refused_for_another_reason_or_too_late_is_not_repaired() -> None:
    assert next_repair(SIGNATURE, encode(call(HELLO))) is None
    assert next_repair(SCHEMA, encode(call(HELLO))) is None
    assert next_repair(BadRequest("signature"), payload()) is None
