from __future__ import annotations

import json

import pytest

from pi.ai.messages import Json, Text, Thinking, UserMessage
from pi.ai.wire.openai_completions.chunks import Delta
from pi.ai.wire.openai_completions.reasoning_details import ReasoningDetails, thinking_delta
from pi.ai.wire.openai_completions.request import encode
from tests.ai.wire.openai_completions.chats import DONE, call_with, chunk, decoded, says


@pytest.mark.behaviour("chat-reasoning-replay")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_keeps_the_name_of_its_field_as_signature(field: str) -> None:
    answer = decoded(chunk({field: "let "}), chunk({field: "me"}), *says("ok"), DONE)

    assert answer.message.content == (
        Thinking(thinking="let me", thinking_signature=field),
        Text(text="ok"),
    )


@pytest.mark.behaviour("chat-reasoning-replay")
def test_reasoning_repeated_in_several_fields_is_read_once() -> None:
    delta = Delta(
        reasoning_content="hm",
        reasoning="hm",
        reasoning_details=[{"type": "reasoning.text", "text": "hm"}],
    )

    assert thinking_delta(delta, ReasoningDetails()) == ("hm", "reasoning_content")


def test_reasoning_fields_without_text_are_ignored() -> None:
    delta = Delta(reasoning_content={"x": 1}, reasoning="", reasoning_text="hm")

    assert thinking_delta(delta, ReasoningDetails()) == ("hm", "reasoning_text")


@pytest.mark.behaviour("chat-reasoning-replay")
@pytest.mark.parametrize("late", [False, True], ids=["with the thought", "behind the text"])
def test_the_opaque_signature_of_thinking_is_replayed_with_it(late: bool) -> None:
    blob = {"reasoning_opaque": "blob"}
    events = (
        chunk({"reasoning_text": "hm"} | ({} if late else blob)),
        *says("ok"),
        chunk(blob if late else {}),
        DONE,
    )

    answer = decoded(*events).message

    assert answer.content == (
        Thinking(thinking="hm", thinking_signature='{"reasoning_opaque":"blob"}'),
        Text(text="ok"),
    )
    (_, replayed) = encode(call_with(UserMessage(content="hi"), answer))["messages"]
    assert replayed == {"role": "assistant", "content": "ok", "reasoning_text": "hm", **blob}


def test_an_opaque_signature_without_thinking_is_replayed_alone() -> None:
    answer = decoded(chunk({"content": "ok", "reasoning_opaque": "blob"}), DONE).message

    assert answer.content == (
        Text(text="ok"),
        Thinking(thinking="", thinking_signature='{"reasoning_opaque":"blob"}', redacted=True),
    )
    (_, replayed) = encode(call_with(UserMessage(content="hi"), answer))["messages"]
    assert replayed == {"role": "assistant", "content": "ok", "reasoning_opaque": "blob"}


def details(*pieces: Json) -> bytes:
    return chunk({"reasoning_details": list(pieces)})


def test_thinking_that_arrives_only_as_details_is_read() -> None:
    answer = decoded(
        details({"type": "reasoning.summary", "summary": "hm"}),
        details({"type": "reasoning.summary", "summary": "!"}, "nonsense", None),  # type: ignore[arg-type]
        *says("ok"),
        DONE,
    )

    assert answer.message.content == (
        Thinking(thinking="hm!", thinking_signature="reasoning_details"),
        Text(text="ok"),
    )


@pytest.mark.behaviour("chat-reasoning-replay")
def test_signed_reasoning_details_are_merged_and_kept() -> None:
    answer = decoded(
        details({"type": "reasoning.text", "index": 0, "text": "let ", "signature": None}),
        details({"type": "reasoning.text", "index": 0, "text": "me"}),
        details({"type": "reasoning.text", "index": 0, "signature": "c2ln"}),
        details({"type": "reasoning.encrypted", "index": 1, "data": "0"}),
        *says("ok"),
        DONE,
    )

    thinking, text = answer.message.content
    assert isinstance(thinking, Thinking)
    assert (thinking.thinking, text) == ("let me", Text(text="ok"))
    assert json.loads(str(thinking.thinking_signature)) == [
        {"type": "reasoning.text", "index": 0, "text": "let me", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "0"},
    ]


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_encrypted_reasoning_without_text_becomes_redacted_thinking() -> None:
    answer = decoded(details({"type": "reasoning.encrypted", "data": "0"}), *says("ok"), DONE)

    assert answer.message.content == (
        Text(text="ok"),
        Thinking(
            thinking="",
            thinking_signature='[{"type":"reasoning.encrypted","data":"0"}]',
            redacted=True,
        ),
    )
