from __future__ import annotations

import pytest

from pi.tui.screen.history import first_shifted_row
from tests.tui.parts import numbered

HISTORY = numbered(40)
FRAME = [*HISTORY, "below"]


def audited(frame: list[str], history: list[str] = HISTORY) -> int | None:
    return first_shifted_row(history, FRAME, frame, settled=len(FRAME))


def test_unchanged_history_is_not_rewritten() -> None:
    assert audited(list(FRAME)) is None
    assert audited(["anything"], []) is None


def test_a_change_of_style_is_ignored() -> None:
    assert audited([f"\x1b[31m{row}\x1b[0m" for row in FRAME]) is None


def test_a_row_edited_in_place_does_not_count_as_shifted() -> None:
    frame = list(FRAME)
    frame[38] = "edited"

    assert audited(frame) is None


@pytest.mark.behaviour("committed-rows-are-final")
def test_inserted_and_removed_rows_are_detected() -> None:
    assert audited([*FRAME[:10], "new", *FRAME[10:]]) == 10
    assert audited([*FRAME[:10], *FRAME[11:], "more", "rows"]) == 10


def test_rows_inserted_or_removed_at_the_end_of_history_are_detected() -> None:
    assert audited([*FRAME[:39], "new", *FRAME[39:]]) == 39
    assert audited([*FRAME[:39], "below", "more"]) == 39


def test_a_frame_truncated_inside_history_does_not_count_as_shifted() -> None:
    assert audited(FRAME[:20]) is None


def test_different_shorter_content_is_detected() -> None:
    assert audited(["all", "new"]) == 0
    assert audited([*FRAME[:3], "new"]) == 3


def test_blank_rows_are_ignored() -> None:
    history = ["first", *[""] * 30]

    assert first_shifted_row(history, history, [*history, "x"], settled=31) is None


def test_any_change_of_a_row_committed_before_it_was_final_is_detected() -> None:
    grown = [*FRAME[: len(HISTORY) - 1], HISTORY[-1] + " and more", *FRAME[len(HISTORY) :]]

    assert audited(grown) is None
    assert first_shifted_row(HISTORY, FRAME, grown, settled=5) == len(HISTORY) - 1
    assert first_shifted_row(HISTORY, FRAME, FRAME, settled=5) is None
    assert first_shifted_row(HISTORY, FRAME, ["new", *grown], settled=5) == 0
