from __future__ import annotations

import pytest

from pi.ai.errors import BadAnswer
from pi.ai.wire.google_generate.response import (
    Candidate,
    Chunk,
    Content,
    FunctionCall,
    Part,
    PromptFeedback,
    UsageMetadata,
    decode,
    decode_lenient,
)


def test_an_event_in_the_documented_format_is_read() -> None:
    event = b"""{"candidates": [{"content": {"parts": [
        {"text": "hi", "thought": true, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "peek", "args": {"path": "a"}, "id": "c1"}}],
        "role": "model"}, "finishReason": "STOP", "index": 0, "safetyRatings": []}],
        "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 1},
        "promptFeedback": {"blockReason": "SAFETY"},
        "responseId": "r", "modelVersion": "m", "createTime": "now"}"""

    parts: list[Part | None] = [
        Part(text="hi", thought=True, thought_signature="c2ln"),
        Part(function_call=FunctionCall(name="peek", args={"path": "a"}, id="c1")),
    ]
    assert decode(event) == Chunk(
        candidates=[Candidate(content=Content(parts=parts), finish_reason="STOP")],
        usage_metadata=UsageMetadata(prompt_token_count=3, thoughts_token_count=1),
        prompt_feedback=PromptFeedback(block_reason="SAFETY"),
        response_id="r",
        model_version="m",
    )


@pytest.mark.behaviour("empty-chunks-are-skipped")
def test_fields_of_the_wrong_type_do_not_lose_the_valid_ones() -> None:
    event = b"""{"candidates": [{"content": {"parts": [
        {"text": "hi", "thought": "perhaps"}, {"text": 5}, 7]}, "finishReason": "STOP"}, 8],
        "usageMetadata": {"promptTokenCount": "3", "candidatesTokenCount": []},
        "responseId": 9, "modelVersion": "m", "error": {"code": 1}}"""

    assert decode_lenient(event) == Chunk(
        candidates=[
            Candidate(
                content=Content(parts=[Part(text="hi"), Part(), Part()]), finish_reason="STOP"
            )
        ],
        usage_metadata=UsageMetadata(prompt_token_count=3),
        prompt_feedback=PromptFeedback(),
        model_version="m",
        error={"code": 1},
    )


@pytest.mark.parametrize("nested", [b"[" * 100_000, b'{"args":' * 100_000])
def test_extremely_deep_nesting_raises_bad_answer(nested: bytes) -> None:
    with pytest.raises(BadAnswer, match="not JSON"):
        decode_lenient(b'{"error":' + nested)


def test_the_first_event_of_a_list_is_read() -> None:
    assert decode_lenient(b'[{"responseId": "r"}, {}]').response_id == "r"
