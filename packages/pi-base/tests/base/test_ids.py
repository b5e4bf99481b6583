from __future__ import annotations

import os
import uuid

from hypothesis import given
from hypothesis import strategies as st

from pi.base.clock import short_id, uuid7


@given(st.integers(min_value=0, max_value=2**48 - 1), st.binary(min_size=10, max_size=10))
def test_session_ids_are_valid_version_7_uuids_that_carry_the_time(
    now_ms: int, noise: bytes
) -> None:
    written = uuid7(now_ms, lambda size: noise[:size])

    parsed = uuid.UUID(written)
    assert str(parsed) == written
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == now_ms


@given(st.lists(st.integers(min_value=0, max_value=2**48 - 1), unique=True))
def test_session_ids_sort_by_their_time(times: list[int]) -> None:
    ids = [uuid7(now_ms, os.urandom) for now_ms in times]

    assert sorted(ids) == [identifier for _, identifier in sorted(zip(times, ids, strict=True))]


def test_short_ids_are_eight_hex_digits_and_avoid_those_taken() -> None:
    answers = iter([b"\0\0\0\0", b"\0\0\0\0", b"\0\0\0\1"])

    assert short_id({"00000000"}, lambda _: next(answers)) == "00000001"


def test_a_long_id_is_returned_when_no_short_id_is_free() -> None:
    class Everything:
        def __contains__(self, candidate: object) -> bool:
            return len(str(candidate)) == 8

    assert len(short_id(Everything(), os.urandom)) == 36
