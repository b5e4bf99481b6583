"""A wish says what was left out."""

from __future__ import annotations

from pi.coding.compaction.surroundings import Wish


def test_by_default_nobody_adds_anything_and_nothing_is_asked_again() -> None:
    wish = Wish(reason="threshold")

    assert (wish.instructions, wish.will_retry) == ("", False)
