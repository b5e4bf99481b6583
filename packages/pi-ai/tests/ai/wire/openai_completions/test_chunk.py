from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import BadAnswer
from pi.ai.wire.openai_completions.chunks import (
    Chunk,
    ChunkChoice,
    Delta,
    FirstChunk,
    decode_chunk,
    decode_first,
    decode_lenient,
)
from pi.base.records import UNREADABLE


def test_only_the_needed_fields_of_a_chunk_are_decoded() -> None:
    data = b'{"id":"1","object":"x","choices":[{"index":0,"delta":{"role":"a","content":"hi"}}]}'

    choices: list[ChunkChoice | None] = [ChunkChoice(delta=Delta(content="hi"))]
    assert decode_chunk(data) == Chunk(choices=choices)
    assert decode_first(data) == FirstChunk(choices=choices, id="1")


@pytest.mark.behaviour("empty-chunks-are-skipped")
@pytest.mark.parametrize("data", [b"null", b"[]", b'"x"', b"7", b"", b" ", b'{"choices":5}'])
def test_events_that_are_not_chunks_are_ignored(data: bytes) -> None:
    assert decode_lenient(data) is None


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize(
    "data",
    [
        b'{"error":{"message":"busy"}}',
        b'{"error":"busy","choices":7}',
        b'{"object":"error","message":"busy"}',
        b'{"message":"busy","code":503}',
    ],
)
def test_errors_are_recognised_in_every_form(data: bytes) -> None:
    assert decode_lenient(data) == FirstChunk(error=msgspec.json.decode(data))


def test_invalid_characters_do_not_lose_a_chunk() -> None:
    torn = b'{"choices":[{"delta":{"content":"a\xff b\\ud83d c"}}]}'

    assert decode_lenient(torn) == FirstChunk(choices=[ChunkChoice(delta=Delta(content="a� b c"))])


def test_data_that_is_not_json_is_quoted_in_the_error() -> None:
    with pytest.raises(BadAnswer, match="<html>"):
        decode_lenient(b"<html>" + b"x" * 1000)


@given(st.binary(max_size=60) | st.just(b"[" * 100_000))
def test_any_data_is_decoded_or_ignored_or_raises_bad_answer(data: bytes) -> None:
    try:
        decode_chunk(data)
    except UNREADABLE:
        try:
            decode_lenient(data)
        except BadAnswer as error:
            assert len(error.message) < 300
