"""The effort of each answer is an item of the conversation; the request has a constant one.

The items are those that the original sends, recorded in version 1.5.2.
"""

from __future__ import annotations

from typing import Any

from pi.ai.messages import Json, Text
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.wire.openai_responses.request import encode
from tests.ai.wire.openai_responses.talk import call, model, own, user

CHANGING = model(reasoning=True, compat={"supportsMidConvoEffort": True})


def update(effort: str) -> Json:
    return {"type": "configuration_update", "reasoning": {"effort": effort}}


def kinds(level: ThinkingLevel, *messages: Any) -> list[Any]:
    """The items of the request: updates as they are, others by role."""
    body = encode(call(*messages, model=CHANGING, reasoning=level))
    return [
        item if item.get("type") == "configuration_update" else item["role"]
        for item in body["input"]
    ]


def test_the_effort_of_the_request_never_changes() -> None:
    for level in ("low", "high"):
        body = encode(call(user("hi"), model=CHANGING, reasoning=level))
        assert body["reasoning"] == {"effort": "medium", "summary": "auto"}


def test_every_answer_follows_its_own_effort_and_the_last_item_is_that_of_the_next() -> None:
    first = own(Text(text="one"), provider_thinking_level="low")
    second = own(Text(text="two"))

    assert kinds("high", user("a"), first, user("b"), second, user("c")) == [
        *("user", update("low"), "assistant", "user", "assistant", "user"),
        update("high"),
    ]


def test_without_thinking_there_are_no_efforts() -> None:
    first = own(Text(text="one"), provider_thinking_level="low")

    assert kinds("off", user("a"), first, user("b")) == ["user", "assistant", "user"]
    body = encode(call(user("a"), model=CHANGING, reasoning="off"))
    assert body["reasoning"] == {"effort": "none"}


def test_the_key_of_the_prompt_cache_can_be_left_out() -> None:
    plain, without = (model(compat={"promptCacheKeyMode": mode}) for mode in ("auto", "disabled"))

    assert encode(call(user("a"), model=plain, session_id="S"))["prompt_cache_key"] == "S"
    assert "prompt_cache_key" not in encode(call(user("a"), model=without, session_id="S"))
