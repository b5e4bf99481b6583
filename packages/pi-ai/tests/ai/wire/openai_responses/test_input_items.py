from __future__ import annotations

import pytest

from pi.ai.messages import Image, Json, Message, Text, Thinking
from pi.ai.wire.openai_responses.identifiers import item_id
from pi.ai.wire.openai_responses.request import encode
from pi.base.records import replace
from tests.ai.wire.openai_responses.talk import (
    GRAMMAR,
    IN_PLACE,
    asks,
    call,
    model,
    own,
    result,
    system,
    thought,
    tool,
    user,
)

PNG = Image(data="AAAA", mime_type="image/png")
PNG_ITEM = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
ENCRYPTED = {"encrypted_content": "ENC"}


def items(*messages: Message, compat: Json | None = None) -> list[Json]:
    given: list[Json] = encode(call(*messages, model=model(compat)))["input"]
    return given


def message_item(text: str, identifier: str, **more: object) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "role": "assistant",
        "content": [part],
        "status": "completed",
        "id": identifier,
        **more,
    }


def reasoned(identifier: str = "rs_1", **more: object) -> Json:
    return {"type": "reasoning", "id": identifier, "summary": [], **more}


# Own thoughts ------------------------------------------------------------------------------------


@pytest.mark.behaviour("foreign-thinking-is-dropped", "responses-reasoning-items")
def test_a_reasoning_item_is_replayed_before_the_item_that_followed_it() -> None:
    answer = own(thought(**ENCRYPTED), "so", thought(id="rs_2", **ENCRYPTED), asks())

    assert items(answer, result("call_1|fc_1", "R")) == [
        reasoned(**ENCRYPTED),
        message_item("so", "msg_pi_0"),
        reasoned("rs_2", **ENCRYPTED),
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "peek",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "R"},
    ]


@pytest.mark.behaviour("responses-reasoning-items")
def test_a_reasoning_item_without_a_following_item_is_left_out() -> None:
    assert items(own("so", thought(**ENCRYPTED)), own(thought(id="rs_2"))) == [
        message_item("so", "msg_pi_0")
    ]


@pytest.mark.behaviour("responses-replay-is-cleaned")
def test_fields_that_only_the_server_writes_are_stripped() -> None:
    answer = own(thought(status="completed", content=None, **ENCRYPTED), "so")

    assert items(answer) == [reasoned(**ENCRYPTED), message_item("so", "msg_pi_0")]


@pytest.mark.behaviour("empty-and-redacted-thinking-survives", "responses-replay-is-cleaned")
def test_an_empty_reasoning_item_is_left_out_unless_it_is_encrypted() -> None:
    assert items(own(thought(""), "so")) == [message_item("so", "msg_pi_0")]
    assert items(own(thought("", **ENCRYPTED), "so"))[0] == reasoned(**ENCRYPTED)


def test_thinking_without_a_reasoning_item_is_left_out() -> None:
    unsigned = Thinking(thinking="hm")
    strange = Thinking(thinking="hm", thinking_signature="not JSON")

    assert items(own(unsigned, strange, "so")) == [message_item("so", "msg_pi_0")]


def test_no_item_is_sent_twice_under_the_same_id() -> None:
    signed = Text(text="so", text_signature='{"v":1,"id":"msg_1"}')

    assert items(own(thought(), signed), own(thought(), signed)) == [
        reasoned(),
        message_item("so", "msg_1"),
        message_item("so", "msg_pi_1"),
    ]


# Own words ---------------------------------------------------------------------------------------


def test_a_text_keeps_its_id_and_its_phase() -> None:
    signed = Text(text="so", text_signature='{"v":1,"id":"msg_1","phase":"commentary"}')

    assert items(own(signed)) == [message_item("so", "msg_1", phase="commentary")]


@pytest.mark.behaviour("responses-replay-is-cleaned")
def test_an_id_of_another_form_is_hashed_and_an_old_signature_is_an_id() -> None:
    odd = Text(text="a", text_signature='{"v":1,"id":"chatcmpl/9"}')
    old = Text(text="b", text_signature="msg_7")
    deep = Text(text="c", text_signature="[" * 100_000)

    assert items(own(odd, old, deep)) == [
        message_item("a", item_id("chatcmpl/9", "msg")),
        message_item("b", "msg_7"),
        message_item("c", item_id("[" * 100_000, "msg")),
    ]


def test_texts_without_an_id_are_numbered_and_empty_ones_left_out() -> None:
    assert items(user("a"), own("", "b", "c"), own("d")) == [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        message_item("b", "msg_pi_1"),
        message_item("c", "msg_pi_1_1"),
        message_item("d", "msg_pi_2"),
    ]


# Calls and results -------------------------------------------------------------------------------


def test_a_call_keeps_its_namespace() -> None:
    called, _ = items(own(replace(asks(), namespace="mail")))

    assert called == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "peek",
        "arguments": "{}",
        "namespace": "mail",
    }


def test_a_call_of_a_text_tool_is_replayed_as_text() -> None:
    messages = (
        system("", tool("patch", GRAMMAR)),
        own(asks("call_1|ctc_1", "patch", path="a → b"), asks("call_2|fc_2", "patch", path=7)),
        result("call_1|ctc_1", "done"),
        result("call_2|fc_2", "no"),
    )

    assert items(*messages, compat={"supportsOpenAIGrammarTools": True}) == [
        {
            "type": "custom_tool_call",
            "id": "ctc_1",
            "call_id": "call_1",
            "name": "patch",
            "input": "a → b",
        },
        {
            "type": "function_call",
            "id": "fc_2",
            "call_id": "call_2",
            "name": "patch",
            "arguments": '{"path":7}',
        },
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"},
        {"type": "function_call_output", "call_id": "call_2", "output": "no"},
    ]


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_blank_result_gets_a_neutral_placeholder() -> None:
    *_, output = items(own(asks()), result("call_1|fc_1", " \n"))

    assert output["output"] == "(no tool output)"


@pytest.mark.behaviour("empty-tool-result-placeholder", "images-follow-the-protocol")
def test_images_of_a_result_are_kept_in_it_without_empty_text() -> None:
    answer = own(asks("call_1|fc_1"), asks("call_2|fc_2"))
    results = (result("call_1|fc_1", "", PNG), result("call_2|fc_2", "a", "b"))

    _, _, first, second = items(answer, *results)

    assert first == {"type": "function_call_output", "call_id": "call_1", "output": [PNG_ITEM]}
    assert second == {"type": "function_call_output", "call_id": "call_2", "output": "a\nb"}


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_message_with_only_a_picture_carries_no_empty_text() -> None:
    assert items(user("", PNG), user("")) == [{"role": "user", "content": [PNG_ITEM]}]


# Later instructions ------------------------------------------------------------------------------


def test_a_later_system_message_is_kept_in_place() -> None:
    later = system("b", sections={"tone": "dry", "old": None})

    assert items(system("a"), user("hi"), later, compat=IN_PLACE) == [
        {"role": "developer", "content": "a"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "role": "developer",
            "content": 'b\n\ndry\n\nThe earlier section "old" no longer applies.',
        },
    ]


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_tools_added_later_are_declared_in_place_once() -> None:
    added = system("", tool("late"))
    first = encode(call(system("", tool("a")), user("hi"), model=model(IN_PLACE)))

    second = encode(
        call(system("", tool("a")), user("hi"), added, user("go"), added, model=model(IN_PLACE))
    )

    declaration = {
        "type": "function",
        "name": "late",
        "description": "does late",
        "parameters": tool().parameters,
    }
    assert second["tools"] == first["tools"]
    assert second["input"] == [
        *first["input"],
        {"type": "additional_tools", "role": "developer", "tools": [declaration]},
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
    ]
