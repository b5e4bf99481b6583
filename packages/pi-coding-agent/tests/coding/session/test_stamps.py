from __future__ import annotations

import pytest

from pi.base.clock import IdFactory
from pi.coding.session.writing import milliseconds
from pi.testing import FakeClock


def test_ids_and_times_have_the_form_of_session_files() -> None:
    stamps = IdFactory(clock=FakeClock(1_794_770_970_346), random_bytes=lambda size: b"\xab" * size)

    assert stamps.now() == "2026-11-15T19:29:30.346Z"
    assert stamps.session_id() == "01a1e0af-a6ea-7eae-abab-abababababab"
    assert stamps.entry_id(set()) == "abababab"
    assert len(stamps.entry_id({"abababab"})) == 36


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [
        ("2026-11-15T19:29:30.346Z", 1_794_770_970_346),
        ("1970-01-01T00:00:00Z", 0),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_timestamps_are_parsed_and_invalid_ones_are_zero(timestamp: str, since: int) -> None:
    assert milliseconds(timestamp) == since
