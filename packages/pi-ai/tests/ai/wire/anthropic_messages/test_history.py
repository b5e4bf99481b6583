from __future__ import annotations

import pytest

from pi.ai.messages import Image, Json, Message, Text, Thinking
from pi.ai.models.model import Model
from pi.ai.wire.anthropic_messages.request import encode
from tests.ai.wire.anthropic_messages.talk import (
    IN_PLACE,
    PLAIN,
    asks,
    call,
    model,
    own,
    result,
    system,
    tool,
    user,
)

PNG = Image(data="aGk=", mime_type="image/png")
PNG_BLOCK = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
}
MID_SYSTEM = {"supportsMidConvoSystemMessages": True}
MID_EFFORT = {**IN_PLACE, "forceAdaptiveThinking": True, "supportsMidConvoEffort": True}


def sent(*messages: Message, model: Model = PLAIN) -> list[Json]:
    encoded: list[Json] = encode(call(*messages, model=model, cache_retention="none"))["messages"]
    return encoded


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def effort(word: str) -> Json:
    return {"role": "system", "content": [], "output_config": {"effort": word}}


# Users and tools ---------------------------------------------------------------------------------


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_user_message_with_only_an_image_has_no_empty_text() -> None:
    assert sent(user("", PNG)) == [{"role": "user", "content": [PNG_BLOCK]}]


def test_a_blank_user_message_is_not_sent() -> None:
    assert sent(user(" \n"), user("a"), user("", " ")) == [{"role": "user", "content": "a"}]


@pytest.mark.behaviour("images-follow-the-protocol")
def test_results_of_parallel_calls_share_one_message_and_keep_their_images() -> None:
    messages = sent(
        user("a"),
        own(asks("c1"), asks("c2")),
        result("c1", "see", PNG),
        result("c2", "one", "two", is_error=True),
    )

    assert messages[2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [text("see"), PNG_BLOCK],
                "is_error": False,
            },
            {
                "type": "tool_result",
                "tool_use_id": "c2",
                "content": "one\ntwo",
                "is_error": True,
            },
        ],
    }


@pytest.mark.behaviour("empty-tool-result-placeholder")
@pytest.mark.parametrize(
    ("content", "is_error", "expected"),
    [
        (("",), False, ""),
        ((" \n\t",), False, ""),
        ((" ",), True, "(no tool output)"),
        ((" ", PNG), False, [PNG_BLOCK]),
    ],
)
def test_an_empty_result_is_never_sent_as_blank_text(
    content: tuple[str | Image, ...], is_error: bool, expected: object
) -> None:
    messages = sent(user("a"), own(asks()), result("c1", *content, is_error=is_error))

    assert messages[2]["content"][0]["content"] == expected


# Answers -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("foreign-thinking-is-dropped", "empty-and-redacted-thinking-survives")
def test_own_thinking_is_replayed_unchanged() -> None:
    signed = Thinking(thinking="hm \n", thinking_signature="c2ln")
    empty = Thinking(thinking="", thinking_signature="ZW1wdHk=")
    redacted = Thinking(thinking="", thinking_signature="DATA", redacted=True)

    messages = sent(user("a"), own(signed, empty, redacted, "t"), user("b"))

    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm \n", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
        {"type": "redacted_thinking", "data": "DATA"},
        text("t"),
    ]


@pytest.mark.behaviour("foreign-thinking-is-dropped")
def test_unsigned_thinking_becomes_plain_text() -> None:
    nothing = Thinking(thinking=" ", redacted=True)

    messages = sent(user("a"), own(Thinking(thinking="hm"), nothing, "t"), user("b"))

    assert messages[1]["content"] == [text("hm"), text("t")]


def test_unsigned_thinking_is_kept_if_empty_signatures_are_allowed() -> None:
    lenient = model({"allowEmptySignature": True})

    messages = sent(user("a"), own(Thinking(thinking="hm"), "t"), user("b"), model=lenient)

    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        text("t"),
    ]


@pytest.mark.behaviour("anthropic-replay-is-normalised")
def test_trailing_white_space_of_an_answer_is_removed() -> None:
    messages = sent(user("a"), own("one \n", "two \n", " "), user("b"))

    assert messages[1]["content"] == [text("one \n"), text("two")]


@pytest.mark.behaviour("anthropic-replay-is-normalised")
def test_text_after_the_last_call_is_moved_before_it() -> None:
    messages = sent(user("a"), own("one", asks("c1"), "two "), result("c1", "R"))

    assert messages[1]["content"] == [
        text("one"),
        text("two "),
        {"type": "tool_use", "id": "c1", "name": "peek", "input": {}},
    ]


def test_text_between_calls_stays_where_it_was() -> None:
    messages = sent(
        user("a"), own(asks("c1"), "two", asks("c2")), result("c1", "R"), result("c2", "R")
    )

    assert [block["type"] for block in messages[1]["content"]] == ["tool_use", "text", "tool_use"]


def test_an_answer_without_any_content_is_not_sent() -> None:
    assert sent(user("a"), own(" ", Thinking(thinking="")), user("b")) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_ids_that_become_equal_are_made_unique_on_call_and_result() -> None:
    messages = sent(
        user("a"), own(asks("x|1"), asks("x/1")), result("x|1", "one"), result("x/1", "two")
    )

    assert [block["id"] for block in messages[1]["content"]] == ["x_1", "x_1_2"]
    assert [(b["tool_use_id"], b["content"]) for b in messages[2]["content"]] == [
        ("x_1", "one"),
        ("x_1_2", "two"),
    ]


# Instructions in the middle ----------------------------------------------------------------------


def test_later_instructions_are_placed_after_the_next_user_message() -> None:
    messages = sent(
        system("S"),
        user("a"),
        own("t"),
        system("rule"),
        user("b"),
        own("u"),
        model=model(MID_SYSTEM),
    )

    assert messages == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [text("t")]},
        {"role": "user", "content": "b"},
        {"role": "system", "content": [text("rule")]},
        {"role": "assistant", "content": [text("u")]},
    ]


def test_later_instructions_are_placed_after_all_results_of_a_batch() -> None:
    messages = sent(
        user("a"), own(asks()), system("rule"), result("c1", "R"), model=model(MID_SYSTEM)
    )

    assert [message["role"] for message in messages] == ["user", "assistant", "user", "system"]


def test_changed_and_removed_sections_are_sent() -> None:
    change = system("now", sections={"rules": "<rules>new</rules>", "skills": None})

    messages = sent(user("a"), change, model=model(MID_SYSTEM))

    update = 'now\n\n<rules>new</rules>\n\nThe earlier section "skills" no longer applies.'
    assert messages[-1] == {"role": "system", "content": [text(update)]}


def test_instructions_without_a_following_user_message_become_a_user_message() -> None:
    messages = sent(user("a"), own("t"), system("rule"), model=model(MID_SYSTEM))

    assert messages[2:] == [{"role": "user", "content": [text("rule")]}]


def test_tools_are_added_and_removed_by_name() -> None:
    messages = sent(
        system("S", tool("a"), tool("b")),
        user("1"),
        own("t"),
        system("", tool("c"), tool("a"), tools_removed=({"name": "b"}, {"name": "gone"})),
        user("2"),
        own("u"),
        system("back", tool("b")),
        user("3"),
        model=model(IN_PLACE),
    )

    def change(kind: str, name: str) -> Json:
        return {"type": kind, "tool": {"type": "tool_reference", "name": name}}

    assert [message["content"] for message in messages if message["role"] == "system"] == [
        [change("tool_removal", "b"), change("tool_addition", "c")],
        [text("back"), change("tool_addition", "b")],
    ]


def test_a_change_of_effort_keeps_the_position_where_it_was_first_sent() -> None:
    talk = (
        user("1"),
        own("a", provider_thinking_level="high"),
        user("2"),
        own("b", provider_thinking_level="low"),
        user("3"),
    )
    target = model(MID_EFFORT)

    before = encode(call(*talk[:3], model=target, reasoning="low", cache_retention="none"))
    after = encode(call(*talk, model=target, reasoning="high", cache_retention="none"))

    assert before["messages"] == [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": [text("a")]},
        {"role": "user", "content": "2"},
        effort("low"),
    ]
    assert after["messages"] == [
        *before["messages"],
        {"role": "assistant", "content": [text("b")]},
        {"role": "user", "content": "3"},
        effort("high"),
    ]
    assert before["output_config"] == after["output_config"] == {"effort": "high"}


# Caching -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_only_the_last_user_block_has_a_cache_mark() -> None:
    messages = encode(call(user("a"), own("t"), system("rule"), user("b", PNG)))["messages"]

    assert messages == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [text("t")]},
        {
            "role": "user",
            "content": [text("b"), {**PNG_BLOCK, "cache_control": {"type": "ephemeral"}}],
        },
    ]


def test_the_cache_mark_is_on_the_user_message_even_if_instructions_follow() -> None:
    messages = encode(call(user("a"), system("rule"), model=model(MID_SYSTEM)))["messages"]

    assert messages == [
        {"role": "user", "content": [{**text("a"), "cache_control": {"type": "ephemeral"}}]},
        {"role": "system", "content": [text("rule")]},
    ]


def test_white_space_of_user_text_is_kept() -> None:
    assert sent(user(Text(text=" a "))) == [{"role": "user", "content": [text(" a ")]}]
