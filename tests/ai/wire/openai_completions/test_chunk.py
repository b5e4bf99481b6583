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


def test_a_chunk_is_decoded_as_far_as_it_is_needed() -> None:
    data = b'{"id":"1","object":"x","choices":[{"index":0,"delta":{"role":"a","content":"hi"}}]}'

    choices: list[ChunkChoice | None] = [ChunkChoice(delta=Delta(content="hi"))]
    assert decode_chunk(data) == Chunk(choices=choices)
    assert decode_first(data) == FirstChunk(choices=choices, id="1")


@pytest.mark.behaviour("empty-chunks-are-skipped")
@pytest.mark.parametrize("data", [b"null", b"[]", b'"x"', b"7", b"", b" ", b'{"choices":5}'])
def test_events_that_are_no_chunks_mean_nothing(data: bytes) -> None:
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
def test_errors_are_known_in_every_form(data: bytes) -> None:
    assert decode_lenient(data) == FirstChunk(error=msgspec.json.decode(data))


def test_broken_characters_do_not_spoil_a_chunk() -> None:
    torn = b'{"choices":[{"delta":{"content":"a\xff b\\ud83d c"}}]}'

    assert decode_lenient(torn) == FirstChunk(choices=[ChunkChoice(delta=Delta(content="a� b c"))])


def test_what_is_not_json_is_shown() -> None:
    with pytest.raises(BadAnswer, match="<html>"):
        decode_lenient(b"<html>" + b"x" * 1000)


@given(st.binary(max_size=60) | st.just(b"[" * 100_000))
def test_whatever_comes_is_a_chunk_or_nothing_or_a_bad_answer(data: bytes) -> None:
    try:
        decode_chunk(data)
    except UNREADABLE:
        try:
            decode_lenient(data)
        except BadAnswer as error:
            assert len(error.message) < 300
