from __future__ import annotations

import pytest

from pi.ai.http.user_agent import user_agent
from pi.ai.messages import (
    AssistantMessage,
    Interruption,
    RequestFailure,
    Text,
    Thinking,
    UserMessage,
)
from pi.ai.wire.pi_messages.request import encode, headers, url
from pi.ai.wire_support.exchange import final_headers
from pi.ai.wire_support.handoff import NO_IMAGES
from pi.base.records import replace
from tests.ai.wire.pi_messages.conversation import HELLO, MODEL, TURN, call


def test_a_request_contains_the_model_the_conversation_and_the_options() -> None:
    assert encode(call(reasoning="high", session_id="S", max_tokens=7)) == {
        "model": "balanced",
        "context": {"messages": [{"role": "user", "content": "hello", "timestamp": 1}]},
        "options": {"reasoning": "high", "maxTokens": 7, "sessionId": "S"},
    }


def test_messages_are_sent_as_they_are_stored() -> None:
    messages = encode(call(*TURN))["context"]["messages"]

    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "toolResult",
        "system",
        "user",
    ]
    assert messages[0]["toolsAdded"][0]["name"] == "peek"
    assert messages[2]["content"] == [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
        {
            "type": "toolCall",
            "id": "a|b",
            "name": "peek",
            "arguments": {"path": "x"},
            "thoughtSignature": "dGh0",
        },
    ]
    assert messages[4]["sections"] == {"cwd": "elsewhere"}


@pytest.mark.behaviour("foreign-thinking-is-dropped")
def test_signatures_of_other_providers_and_aborted_answers_are_not_sent() -> None:
    foreign = AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="x"), Text(text="t")),
        api="anthropic-messages",
        provider="anthropic",
        model="claude",
    )
    broken = replace(foreign, stop_reason="aborted")

    messages = encode(call(HELLO, foreign, broken))["context"]["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1]["content"] == [{"type": "text", "text": "t"}]


@pytest.mark.behaviour("images-follow-the-protocol")
def test_a_model_without_image_input_gets_a_note() -> None:
    blind = replace(MODEL, input=("text",))

    user = encode(call(*TURN, target=blind))["context"]["messages"][1]

    assert user["content"][1] == {"type": "text", "text": NO_IMAGES}


def test_keys_variables_and_headers_of_the_caller_are_not_in_the_options() -> None:
    asked = call(UserMessage(content="x"), api_key="SECRET", env={"A": "B"}, headers={"x-a": "1"})

    assert encode(asked)["options"] == {}
    assert url(asked) == "https://proxy.test/v1/messages"
    assert final_headers(asked, headers(asked)) == (
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
        ("User-Agent", user_agent()),
        ("Authorization", "Bearer KEY"),
        ("x-a", "1"),
    )


def test_no_authorization_header_is_sent_without_a_key() -> None:
    asked = replace(call(), access=replace(call().access, api_key=None))

    assert "Authorization" not in headers(asked)


def test_interruption_notes_are_not_sent() -> None:
    cut = AssistantMessage(
        content=(Text(text="so far"),), interrupt=Interruption(by="rules", reason="enough")
    )
    payload = encode(call(UserMessage(content="hi"), cut, UserMessage(content="go on")))

    assert "interrupt" not in str(payload)


def test_the_failure_of_an_answer_is_not_sent() -> None:
    failed = AssistantMessage(
        content=(Text(text="so far"),), failure=RequestFailure(kind="outage", text="It broke.")
    )
    payload = encode(call(UserMessage(content="hi"), failed, UserMessage(content="go on")))

    assert "so far" in str(payload)
    assert "It broke." not in str(payload)
