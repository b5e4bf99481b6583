from __future__ import annotations

import pytest

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.wire.google_generate.compat import compat_of
from pi.ai.wire.google_generate.history import UNSIGNED, contents
from pi.ai.wire_support.handoff import IMAGES_FOLLOW
from pi.base.records import replace
from tests.ai.wire.awkward_histories import foreign, peek, result
from tests.ai.wire.fixed_conversation import PNG

NEW = Model(
    id="gemini-3-flash",
    name="New",
    api="google-generative-ai",
    provider="google",
    input=("text", "image"),
)
OLD = replace(NEW, id="gemini-2.5-flash")
ASK = UserMessage(content="ask")
PICTURE = Image(data=PNG, mime_type="image/png")
INLINE = {"inlineData": {"mimeType": "image/png", "data": PNG}}


def written(model: Model, *messages: Message) -> list[Json]:
    return contents(messages, model, compat_of(model))


def own(model: Model, *content: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(content=content, api=model.api, provider=model.provider, model=model.id)


def parts(model: Model, *messages: Message) -> list[list[Json]]:
    return [content["parts"] for content in written(model, *messages)]


@pytest.mark.behaviour(
    "foreign-thinking-is-dropped", "empty-and-redacted-thinking-survives", "gemini-tool-results"
)
def test_own_signatures_are_replayed_unchanged() -> None:
    answer = own(
        NEW,
        Thinking(thinking="", thinking_signature="dGhvdWdodA=="),
        Text(text="", text_signature="dGV4dA=="),
        ToolCall(id="c1", name="peek", arguments={"n": 1}, thought_signature="Y2FsbA=="),
    )

    assert parts(NEW, ASK, answer, result("c1", Text(text="R")))[1] == [
        {"thought": True, "text": "", "thoughtSignature": "dGhvdWdodA=="},
        {"text": "", "thoughtSignature": "dGV4dA=="},
        {
            "functionCall": {"name": "peek", "args": {"n": 1}, "id": "c1"},
            "thoughtSignature": "Y2FsbA==",
        },
    ]


@pytest.mark.behaviour("gemini-tool-results")
def test_the_first_unsigned_call_of_an_unfinished_step_gets_the_sentinel() -> None:
    step = (foreign(peek("c1"), peek("c2")), result("c1"), result("c2"))
    signed = own(NEW, ToolCall(id="c3", name="peek", arguments={}, thought_signature="c2ln"))

    sent = parts(NEW, ASK, *step, signed, result("c3"))

    assert [part.get("thoughtSignature") for part in sent[1]] == [UNSIGNED, None]
    assert [part.get("thoughtSignature") for part in sent[3]] == ["c2ln"]


@pytest.mark.behaviour("prompt-prefix-is-stable", "gemini-tool-results")
def test_calls_of_an_earlier_turn_get_no_sentinel() -> None:
    # Google checks only the turn under way, and what was sent once should not change.
    sent = parts(NEW, ASK, foreign(peek("c1")), result("c1"), UserMessage(content="next"))

    assert sent[1] == [{"functionCall": {"name": "peek", "args": {}, "id": "c1"}}]


def test_older_models_get_no_sentinel_and_no_ids() -> None:
    sent = parts(OLD, ASK, foreign(peek("c1")), result("c1", Text(text="R")))

    assert sent[1:] == [
        [{"functionCall": {"name": "peek", "args": {}}}],
        [{"functionResponse": {"name": "peek", "response": {"output": "R"}}}],
    ]


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_foreign_ids_are_made_valid_and_results_follow() -> None:
    odd, long = "call|fc é", "x" * 90
    sent = parts(NEW, ASK, foreign(peek(odd), peek(long)), result(odd), result(long))

    calls = [part["functionCall"]["id"] for part in sent[1]]
    assert calls == ["call_fc__", "x" * 64]
    assert [part["functionResponse"]["id"] for part in sent[2]] == calls


@pytest.mark.behaviour("nameless-tool-call-is-dropped")
def test_a_call_without_a_name_is_dropped_with_its_result() -> None:
    nameless = foreign(Text(text="t"), ToolCall(id="c1", name="", arguments={}))

    assert parts(NEW, ASK, nameless, result("c1")) == [[{"text": "ask"}], [{"text": "t"}]]


@pytest.mark.behaviour("calls-and-results-are-paired", "gemini-tool-results")
def test_results_of_a_batch_share_a_content_and_separate_errors_from_outputs() -> None:
    batch = foreign(peek("c1"), peek("c2"), peek("c3"))

    sent = written(
        OLD, ASK, batch, result("c1", Text(text="R")), result("c3", Text(text="E"), is_error=True)
    )

    assert sent[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "peek", "response": {"output": "R"}}},
            {"functionResponse": {"name": "peek", "response": {"error": "E"}}},
            {"functionResponse": {"name": "peek", "response": {"error": "No result provided"}}},
        ],
    }


@pytest.mark.behaviour("images-follow-the-protocol")
def test_images_of_results_are_placed_inside_them_for_new_models() -> None:
    sent = parts(NEW, ASK, foreign(peek("c1")), result("c1", Text(text="see"), PICTURE))

    assert sent[2] == [
        {
            "functionResponse": {
                "name": "peek",
                "response": {"output": "see"},
                "id": "c1",
                "parts": [INLINE],
            }
        }
    ]


@pytest.mark.behaviour("images-follow-the-protocol")
def test_pictures_of_results_follow_the_whole_batch_for_older_models() -> None:
    batch = foreign(peek("c1"), peek("c2"))

    sent = parts(OLD, ASK, batch, result("c1", PICTURE), result("c2", Text(text="R")))

    assert sent[2:] == [
        [
            {"functionResponse": {"name": "peek", "response": {"output": ""}}},
            {"functionResponse": {"name": "peek", "response": {"output": "R"}}},
        ],
        [{"text": IMAGES_FOLLOW}, INLINE],
    ]


@pytest.mark.behaviour("images-follow-the-protocol")
def test_a_model_without_image_input_gets_a_note() -> None:
    blind = replace(NEW, input=("text",))

    sent = parts(blind, UserMessage(content=(PICTURE,)))

    assert sent == [[{"text": "(image omitted: model does not support images)"}]]


@pytest.mark.behaviour("empty-tool-result-placeholder")
def test_a_message_with_only_images_has_no_empty_text() -> None:
    assert parts(NEW, UserMessage(content=(Text(text=""), PICTURE))) == [[INLINE]]


def test_empty_messages_are_left_out() -> None:
    empty = own(NEW, Text(text=""), Thinking(thinking=""))

    assert parts(NEW, ASK, empty, UserMessage(content="")) == [[{"text": "ask"}]]


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() -> None:
    turn = (ASK, own(NEW, peek("c1")), result("c1", Text(text="R")))

    shorter = written(NEW, *turn, UserMessage(content="next"))
    longer = written(NEW, *turn, UserMessage(content="next"), own(NEW, Text(text="ok")), ASK)

    assert longer[: len(shorter)] == shorter
