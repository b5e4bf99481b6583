from __future__ import annotations

import base64

import pytest
from msgspec import UNSET

from pi.ai.messages import Image, Json, Message, Text, Thinking, ToolCall, UserMessage
from pi.ai.models.model import Model
from pi.ai.wire.bedrock_converse.compat import compat_of
from pi.ai.wire.bedrock_converse.history import NO_TEXT, UNKNOWN_IMAGE, encode_messages, history_for
from pi.ai.wire_support.handoff import NO_OUTPUT
from tests.ai.wire.bedrock_converse.calls import HELLO, assistant_message, model, peek, result
from tests.ai.wire.fixed_conversation import PNG

PICTURE = Image(data=PNG, mime_type="image/png")
ENCODED_PICTURE = {"image": {"source": {"bytes": base64.b64decode(PNG)}, "format": "png"}}


def encoded(*messages: Message, target: Model | None = None) -> list[Json]:
    asked = target or model()
    return encode_messages(history_for(messages, asked), compat_of(asked))


def user(*content: Json) -> Json:
    return {"role": "user", "content": [*content]}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": [*content]}


def tool_result(id: str, *content: Json, status: str = "success") -> Json:
    return {"toolResult": {"toolUseId": id, "content": [*content], "status": status}}


# Texts and pictures ------------------------------------------------------------------------------


@pytest.mark.behaviour("empty-tool-result-placeholder", "bedrock-request-rules")
def test_blank_text_is_left_out_or_replaced() -> None:
    assert encoded(UserMessage(content=" \n")) == [user({"text": NO_TEXT})]
    assert encoded(UserMessage(content=(Text(text=""), PICTURE))) == [user(ENCODED_PICTURE)]
    assert encoded(HELLO, assistant_message(Text(text=" "), Text(text="ok"))) == [
        user({"text": "hello"}),
        assistant({"text": "ok"}),
    ]


def test_an_empty_answer_is_left_out() -> None:
    assert encoded(HELLO, assistant_message(Text(text="")), HELLO) == [user({"text": "hello"})] * 2


@pytest.mark.parametrize(
    ("mime_type", "written"),
    [("image/jpeg", "jpeg"), ("image/jpg", "jpeg"), ("IMAGE/GIF", "gif"), ("image/webp", "webp")],
)
def test_images_are_sent_as_bytes_with_a_format(mime_type: str, written: str) -> None:
    picture = Image(data="AAE=", mime_type=mime_type)

    assert encoded(UserMessage(content=(picture,))) == [
        user({"image": {"source": {"bytes": b"\x00\x01"}, "format": written}})
    ]


@pytest.mark.behaviour("image-limits-on-final-bytes")
@pytest.mark.parametrize(
    "picture",
    [
        Image(data="AAE=", mime_type="image/tiff"),
        Image(data="A", mime_type="image/png"),
        Image(data="é", mime_type="image/png"),
        Image(data="", mime_type="image/png"),
    ],
)
def test_a_picture_that_cannot_be_sent_becomes_a_note(picture: Image) -> None:
    assert encoded(UserMessage(content=(picture,))) == [user({"text": UNKNOWN_IMAGE})]


# Calls and results -------------------------------------------------------------------------------


@pytest.mark.behaviour("calls-and-results-are-paired", "images-follow-the-protocol")
def test_the_results_of_a_batch_share_a_message_and_keep_their_pictures() -> None:
    messages = encoded(
        HELLO,
        assistant_message(peek("a"), peek("b"), peek("c")),
        result("b", Text(text="no"), is_error=True),
        result("a", Text(text="see"), PICTURE),
        HELLO,
    )

    assert messages[2:] == [
        user(
            tool_result("b", {"text": "no"}, status="error"),
            tool_result("a", {"text": "see"}, ENCODED_PICTURE),
            tool_result("c", {"text": "No result provided"}, status="error"),
        ),
        user({"text": "hello"}),
    ]


@pytest.mark.behaviour("empty-tool-result-placeholder")
@pytest.mark.parametrize("content", [(), (Text(text=""),), (Text(text=" \n"),)])
def test_an_empty_result_gets_a_placeholder(content: tuple[Text, ...]) -> None:
    messages = encoded(HELLO, assistant_message(peek("a")), result("a", *content))

    assert messages[-1] == user(tool_result("a", {"text": NO_OUTPUT}))


def test_a_result_with_only_an_image_has_no_text() -> None:
    messages = encoded(HELLO, assistant_message(peek("a")), result("a", PICTURE))

    assert messages[-1] == user(tool_result("a", ENCODED_PICTURE))


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_ids_are_written_in_the_alphabet_of_the_wire() -> None:
    odd = "call|" + "x" * 80

    messages = encoded(HELLO, assistant_message(peek(odd)), result(odd, Text(text="R")))

    id = "call_" + "x" * 59
    call = {"toolUse": {"toolUseId": id, "name": "peek", "input": {"path": "x"}}}
    assert messages[1:] == [assistant(call), user(tool_result(id, {"text": "R"}))]


# Thoughts ----------------------------------------------------------------------------------------

SIGNED = Thinking(thinking="hm", thinking_signature="c2ln")
UNSIGNED = Thinking(thinking="hm")
REDACTED = Thinking(thinking="", thinking_signature="AAE=", redacted=True)
NATIVE = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
NAMELESS = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
HIDDEN = {"reasoningContent": {"redactedContent": b"\x00\x01"}}


@pytest.mark.behaviour("foreign-thinking-is-dropped", "empty-and-redacted-thinking-survives")
@pytest.mark.parametrize(
    ("id", "thought", "expected"),
    [
        ("anthropic.claude-opus-5", SIGNED, [NATIVE]),
        (
            "anthropic.claude-opus-5",
            Thinking(thinking="", thinking_signature="c2ln"),
            [{"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}],
        ),
        ("anthropic.claude-opus-5", UNSIGNED, [{"text": "hm"}]),
        ("anthropic.claude-opus-5", REDACTED, [HIDDEN]),
        ("openai.gpt-oss-20b-1:0", UNSIGNED, [NAMELESS]),
        ("openai.gpt-5.5", REDACTED, [HIDDEN]),
        ("minimax.minimax-m2", SIGNED, [NATIVE]),
        ("minimax.minimax-m2", Thinking(thinking=" "), []),
        ("deepseek.v3.2", UNSIGNED, []),
        ("deepseek.v3.2", REDACTED, []),
        (
            "anthropic.claude-opus-5",
            Thinking(thinking="", thinking_signature=UNSET, redacted=True),
            [],
        ),
    ],
)
def test_thinking_is_replayed_in_the_form_that_its_model_accepts(
    id: str, thought: Thinking, expected: list[Json]
) -> None:
    target = model(id)
    messages = encoded(HELLO, assistant_message(thought, Text(text="ok"), by=target), target=target)

    assert messages[1] == assistant(*expected, {"text": "ok"})


@pytest.mark.behaviour("foreign-thinking-is-dropped")
def test_thinking_of_other_models_is_dropped() -> None:
    messages = encoded(
        HELLO,
        assistant_message(SIGNED, REDACTED, Text(text="ok"), by=model("other")),
        target=model(),
    )

    assert messages[1] == assistant({"text": "ok"})


def test_calls_without_a_name_are_dropped() -> None:
    nameless = ToolCall(id="a", name="", arguments={})

    assert encoded(HELLO, assistant_message(nameless), result("a")) == [user({"text": "hello"})]
