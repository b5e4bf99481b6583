from __future__ import annotations

from pi.coding.session.stamps import Stamps
from pi.testing import FakeClock


def test_ids_and_times_have_the_form_of_session_files() -> None:
    stamps = Stamps(clock=FakeClock(1_794_770_970_346), random_bytes=lambda size: b"\xab" * size)

    assert stamps.now() == "2026-11-15T19:29:30.346Z"
    assert stamps.session_id() == "01a1e0af-a6ea-7eae-abab-abababababab"
    assert stamps.entry_id(set()) == "abababab"
    assert len(stamps.entry_id({"abababab"})) == 36
