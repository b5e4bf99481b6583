from __future__ import annotations

import pytest

from pi.ai.messages import (
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.wire.openai_completions.history import id_maker
from pi.ai.wire.openai_completions.request import encode
from pi.base.records import replace
from tests.ai.wire.openai_completions.chats import (
    MODEL,
    PEEK,
    answered,
    call_with,
    model_with,
    peeked,
    resulted,
)

PICTURE = Image(data="AAAA", mime_type="image/png")
PICTURE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def sent(*messages: Message, model: Model = MODEL) -> list[Json]:
    found: list[Json] = encode(call_with(*messages, model=model))["messages"]
    return found


def test_a_model_without_reasoning_gets_its_instructions_as_a_system_message() -> None:
    plain = model_with(reasoning=False)

    assert sent(SystemMessage(content="S"), UserMessage(content="a"), model=plain) == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "a"},
    ]


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_message_with_only_an_image_has_no_empty_text() -> None:
    assert sent(UserMessage(content=(Text(text=" "), PICTURE))) == [
        {"role": "user", "content": [PICTURE_PART]}
    ]


def test_messages_without_text_or_calls_are_left_out() -> None:
    thoughts = answered(Thinking(thinking="hm", thinking_signature="reasoning"))

    assert sent(UserMessage(content=""), thoughts, UserMessage(content="b")) == [
        {"role": "user", "content": "b"}
    ]


@pytest.mark.behaviour("images-follow-the-protocol")
def test_images_are_sent_after_all_results_of_a_batch() -> None:
    assert sent(
        answered(peeked("c1"), peeked("c2")),
        resulted("c1", PICTURE),
        resulted("c2", Text(text="two"), PICTURE),
        UserMessage(content="b"),
    )[1:] == [
        {"role": "tool", "content": "(see attached image)", "tool_call_id": "c1"},
        {"role": "tool", "content": "two", "tool_call_id": "c2"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Attached image(s) from tool result:"},
                PICTURE_PART,
                PICTURE_PART,
            ],
        },
        {"role": "user", "content": "b"},
    ]


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_blank_result_gets_a_neutral_placeholder() -> None:
    messages = sent(answered(peeked("c1")), resulted("c1", Text(text=" \n")))

    assert messages[1]["content"] == "(no tool output)"


def test_an_assistant_message_separates_results_from_their_images_if_required() -> None:
    model = model_with({"requiresAssistantAfterToolResult": True})

    roles = [
        m["role"]
        for m in sent(answered(peeked("c"), model=model), resulted("c", PICTURE), model=model)
    ]

    assert roles == ["assistant", "tool", "assistant", "user"]


@pytest.mark.behaviour("chat-reasoning-replay")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_is_replayed_in_the_field_it_was_received_in(field: str) -> None:
    answer = answered(
        Thinking(thinking="one ", thinking_signature=field),
        Text(text="x"),
        Thinking(thinking="two", thinking_signature=field),
        Text(text="y"),
    )

    assert sent(answer) == [{"role": "assistant", "content": "xy", field: "one two"}]


@pytest.mark.behaviour("chat-reasoning-replay")
def test_thinking_extracted_from_the_visible_text_is_not_replayed() -> None:
    assert sent(answered(Thinking(thinking="hm"), Text(text="x"))) == [
        {"role": "assistant", "content": "x"}
    ]


@pytest.mark.behaviour("chat-reasoning-replay")
def test_reasoning_details_are_replayed_unchanged_and_without_other_fields() -> None:
    proof = '[{"type":"reasoning.text","text":"hm","signature":"c2ln","index":0}]'
    answer = answered(
        Thinking(thinking="hm", thinking_signature=proof),
        Text(text="x"),
        ToolCall(
            id="c",
            name="peek",
            arguments={},
            thought_signature='{"type":"reasoning.encrypted","id":"c","data":"0"}',
        ),
    )

    encoded = sent(answer, resulted("c", Text(text="R")))[0]

    assert encoded == {
        "role": "assistant",
        "content": "x",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "signature": "c2ln", "index": 0},
            {"type": "reasoning.encrypted", "id": "c", "data": "0"},
        ],
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "peek", "arguments": "{}"}}
        ],
    }


def test_reasoning_details_without_a_signature_are_replayed_as_text() -> None:
    answer = answered(
        Thinking(thinking="hm", thinking_signature="reasoning_details"), Text(text="x")
    )

    assert sent(answer)[0]["reasoning_details"] == [{"type": "reasoning.text", "text": "hm"}]


@pytest.mark.parametrize("broken", ["[", "[1", "{}", "nonsense"])
def test_thinking_with_an_invalid_signature_is_left_out(broken: str) -> None:
    answer = answered(Thinking(thinking="hm", thinking_signature=broken), Text(text="x"))

    assert sent(answer) == [{"role": "assistant", "content": "x"}]


@pytest.mark.parametrize("broken", ["no JSON", "[" * 100_000], ids=["no JSON", "too deep"])
def test_an_invalid_signature_of_a_call_is_left_out(broken: str) -> None:
    signed = replace(peeked("c"), thought_signature=broken)

    call = sent(answered(signed), resulted("c", Text(text="R")))[0]["tool_calls"][0]

    assert "extra_content" not in call


def test_extra_content_of_a_call_is_replayed() -> None:
    signed = replace(peeked("c"), thought_signature='{"google":{"thought_signature":"c2ln"}}')

    call = sent(answered(signed), resulted("c", Text(text="R")))[0]["tool_calls"][0]

    assert call["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_servers_that_require_reasoning_content_get_an_empty_one_if_missing() -> None:
    model = model_with({"requiresReasoningContentOnAssistantMessages": True})
    thought = Thinking(thinking="hm", thinking_signature="reasoning")

    assert sent(
        answered(Text(text="x"), model=model),
        answered(thought, Text(text="y"), model=model),
        model=model,
    ) == [
        {"role": "assistant", "content": "x", "reasoning_content": ""},
        {"role": "assistant", "content": "y", "reasoning_content": "hm"},
    ]


def test_an_answer_without_thinking_is_a_string_if_thinking_is_sent_as_text() -> None:
    model = model_with({"requiresThinkingAsText": True})

    assert sent(answered(Text(text="x"), model=model), model=model) == [
        {"role": "assistant", "content": "x"}
    ]


def test_a_later_system_message_is_kept_in_place_if_the_server_supports_it() -> None:
    model = model_with({"supportsMidConvoSystemMessages": True})

    assert sent(
        SystemMessage(content="S", sections={"cwd": "/a"}),
        UserMessage(content="a"),
        SystemMessage(content="", sections={"cwd": "/b"}),
        SystemMessage(content="", sections={"old": None}),
        SystemMessage(content=""),
        UserMessage(content="b"),
        model=model,
    ) == [
        {"role": "developer", "content": "S\n\n/a"},
        {"role": "user", "content": "a"},
        {"role": "developer", "content": "/b"},
        {"role": "developer", "content": 'The earlier section "old" no longer applies.'},
        {"role": "user", "content": "b"},
    ]


LATE = replace(PEEK, name="late")
GONE = replace(PEEK, name="gone")
CHANGED = replace(PEEK, description="look twice")


def function(name: str, description: str = "look at it") -> Json:
    parameters = PEEK.parameters
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def test_tools_added_later_are_declared_in_place_if_the_server_supports_it() -> None:
    model = model_with(
        {"supportsMidConvoSystemMessages": True, "supportsMidConvoToolAdditions": True}
    )

    body = encode(
        call_with(
            SystemMessage(content="S", tools_added=(PEEK, replace(PEEK, name="first"))),
            UserMessage(content="a"),
            SystemMessage(content="more", tools_added=(LATE, GONE, CHANGED)),
            SystemMessage(content="", tools_removed=({"name": "gone"},)),
            model=model,
        )
    )

    assert body["tools"] == [function("first")]
    assert body["messages"][2:] == [
        {"role": "developer", "content": "more"},
        {"role": "system", "tools": [function("late"), function("peek", "look twice")]},
    ]


def test_tools_added_later_are_declared_with_the_others_by_default() -> None:
    body = encode(
        call_with(
            SystemMessage(content="S", tools_added=(PEEK,)),
            UserMessage(content="a"),
            SystemMessage(content="more", tools_added=(LATE,)),
        )
    )

    assert body["tools"] == [function("peek"), function("late")]
    assert len(body["messages"]) == 2


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_ids_of_other_models_are_converted_to_portable_characters() -> None:
    make_id = id_maker(MODEL)
    foreign = answered(model=replace(MODEL, provider="other"))

    assert make_id("functions.peek:0", answered()) == "functions.peek:0"
    assert make_id("functions.peek:0|ä", foreign) == "functions_peek_0__"
    assert len(make_id("x" * 90, answered())) == 64
