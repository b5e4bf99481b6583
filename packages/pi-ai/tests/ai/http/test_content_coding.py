from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.http.response_parser import inflater_for
from tests.ai.http.splits import splits


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "raw": raw_deflate,
}
CODING = {"gzip": "gzip", "zlib": "deflate", "raw": "deflate"}


def inflate(coding: str, pieces: list[bytes]) -> tuple[bytes, bool]:
    inflater = inflater_for(coding)
    plain = b""
    for piece in pieces:
        inflater.feed(piece)
        while more := inflater.take():
            plain += more
    return plain, inflater.finished


@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=200), st.data())
def test_compressed_bodies_split_anywhere_are_decoded(
    kind: str, body: bytes, data: st.DataObject
) -> None:
    packed = ENCODERS[kind](body)

    pieces = data.draw(splits(packed))

    assert inflate(CODING[kind], pieces) == (body, True)


@pytest.mark.parametrize("kind", sorted(ENCODERS))
def test_a_truncated_body_is_not_finished(kind: str) -> None:
    packed = ENCODERS[kind](b"some words and more words")

    for end in range(1, len(packed)):
        assert not inflate(CODING[kind], [packed[:end]])[1]


def test_an_empty_body_is_finished() -> None:
    assert inflate("gzip", []) == (b"", True)


def test_a_gzip_body_may_have_several_members() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")

    assert inflate("x-gzip", [packed[i : i + 1] for i in range(len(packed))]) == (b"one two", True)


def test_a_small_body_cannot_become_a_huge_chunk() -> None:
    inflater = inflater_for("gzip")
    inflater.feed(gzip.compress(bytes(5 << 20)))

    sizes = []
    while more := inflater.take():
        sizes.append(len(more))

    assert sizes == [1 << 20] * 5
    assert inflater.finished


def test_damaged_bodies_and_unknown_codings_are_refused() -> None:
    with pytest.raises(ValueError):
        inflate("gzip", [b"no gzip at all"])
    with pytest.raises(ValueError, match="'br' is unknown"):
        inflater_for("br")
