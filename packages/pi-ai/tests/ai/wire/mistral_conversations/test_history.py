from __future__ import annotations

import pytest

from pi.ai.messages import Json, Message, SystemMessage, Text, Thinking, UserMessage
from pi.ai.wire.mistral_conversations.history import encode_messages, short_id
from pi.ai.wire_support.handoff import NO_OUTPUT
from tests.ai.wire.mistral_conversations.calls import (
    HELLO,
    PICTURE,
    TURN,
    assistant_message,
    model,
    peek,
    result,
)

IMAGE = {"type": "image_url", "imageUrl": f"data:image/png;base64,{PICTURE.data}"}


def encoded(*messages: Message) -> list[Json]:
    return encode_messages(messages, model())


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool(id: str, *content: Json) -> Json:
    return {"role": "tool", "toolCallId": id, "name": "peek", "content": [*content]}


def called(id: str, index: int) -> Json:
    function = {"name": "peek", "arguments": '{"path":"wörld"}'}
    return {"id": id, "type": "function", "function": function, "index": index}


@pytest.mark.behaviour("images-follow-the-protocol")
def test_a_turn_is_encoded_in_the_format_of_mistral() -> None:
    assert encoded(*TURN[1:]) == [
        {"role": "user", "content": [text("see"), IMAGE]},
        {
            "role": "assistant",
            "prefix": False,
            "content": [{"type": "thinking", "thinking": [text("hm")]}, text("t")],
            "toolCalls": [called("abcdef123", 0), called("abcdef124", 1)],
        },
        tool("abcdef123", text("R")),
        tool("abcdef124", IMAGE),
        {"role": "assistant", "prefix": False, "content": [text("done")]},
        {"role": "user", "content": "next"},
    ]


@pytest.mark.behaviour("foreign-thinking-is-dropped", "tool-call-ids-are-valid")
def test_thinking_of_another_model_is_left_out_and_its_ids_are_converted() -> None:
    foreign = assistant_message(
        Thinking(thinking="hm", thinking_signature="x"),
        Text(text="so"),
        peek("call_1|fc_1"),
        by=model("other"),
    )

    assert encoded(HELLO, foreign, result("call_1|fc_1", Text(text="R")))[1:] == [
        {
            "role": "assistant",
            "prefix": False,
            "content": [text("so")],
            "toolCalls": [called(short_id("call_1|fc_1"), 0)],
        },
        tool(short_id("call_1|fc_1"), text("R")),
    ]


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_signed_thinking_is_replayed_with_its_signature() -> None:
    messages = encoded(HELLO, assistant_message(Thinking(thinking="", thinking_signature="s")))

    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": [text("")], "signature": "s"}
    ]


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_empty_parts_are_left_out_or_replaced() -> None:
    messages = encoded(
        UserMessage(content=(Text(text=""), PICTURE)),
        assistant_message(Text(text=""), peek("abcdef123")),
        result("abcdef123", Text(text=" ")),
        assistant_message(Text(text=""), Thinking(thinking="")),
        UserMessage(content=()),
        UserMessage(content=""),
    )

    assert messages == [
        {"role": "user", "content": [IMAGE]},
        {"role": "assistant", "prefix": False, "toolCalls": [called("abcdef123", 0)]},
        tool("abcdef123", text(NO_OUTPUT)),
    ]


def test_a_later_system_message_is_kept_in_place_with_its_sections() -> None:
    messages = encoded(
        HELLO,
        SystemMessage(content="rule", sections={"cwd": "here", "gone": None}),
        SystemMessage(content=""),
    )

    text = 'rule\n\nhere\n\nThe earlier section "gone" no longer applies.'
    assert messages[1:] == [{"role": "system", "content": text}]
