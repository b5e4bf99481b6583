from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.tui.screen.history import Ledger
from pi.tui.screen.pane_match import HistoryMatch, PaneText, find_end_of_history
from pi.tui.screen.reflow import TextPosition, UnwrappedText

ROWS = [f"row {number} has some words" for number in range(40)]


def tape(rows: Sequence[str], height: int) -> PaneText:
    return PaneText(rows=rows, width=40, height=height)


def at(committed: int, top: int | None = None) -> Ledger:
    return Ledger(committed=committed, top=committed if top is None else top)


def before(row: int) -> TextPosition:
    return UnwrappedText(ROWS).position(row)


def test_history_that_ends_at_the_expected_row_is_kept() -> None:
    seen = tape([*ROWS[:30], "anything", ""], 2)

    assert find_end_of_history(seen, ROWS, at(30)) == HistoryMatch(before(30), 0)


def test_rows_that_were_moved_into_history_are_found_there() -> None:
    assert find_end_of_history(tape(ROWS, 5), ROWS, at(30)) == HistoryMatch(before(35), 0)


def test_rows_taken_back_from_history_onto_the_screen_are_found_there() -> None:
    assert find_end_of_history(tape(ROWS, 15), ROWS, at(30)) == HistoryMatch(before(30), 5)


@pytest.mark.behaviour("committed-rows-are-final")
def test_history_does_not_end_inside_a_row_wrapped_by_the_pane() -> None:
    head, rest = ROWS[31][:9], ROWS[31][9:]
    seen = tape([*ROWS[:31], head, rest, *ROWS[32:]], 9)

    assert find_end_of_history(seen, ROWS, at(30)) == HistoryMatch(before(32), 1)


def test_punctuation_at_the_end_of_a_wrapped_row_is_not_written_again() -> None:
    rows = [*ROWS[:31], "first words, and a word,", *ROWS[32:]]
    seen = tape([*rows[:31], "first words, and a wor", "d,", *rows[32:]], 9)

    found = find_end_of_history(seen, rows, at(30))

    assert found is not None
    assert (found.position.tail, found.top) == (",", 1)


def test_blank_rows_at_the_end_of_history_count() -> None:
    rows = [*ROWS[:30], "", "", *ROWS[30:]]
    place = UnwrappedText(rows).position(32)

    assert find_end_of_history(tape(rows, 10), rows, at(30)) == HistoryMatch(place, 0)
    assert find_end_of_history(tape(rows, 11), rows, at(32)) == HistoryMatch(place, 1)


def test_rows_that_never_reached_the_pane_are_not_part_of_history() -> None:
    seen = tape([*ROWS[:20], "something else", "and more of it", "at the bottom"], 1)

    assert find_end_of_history(seen, ROWS, at(30), sure=20) == HistoryMatch(
        TextPosition(before(20).letters, tail=""), 0
    )


def test_misplaced_rows_are_searched_from_the_last_certain_one() -> None:
    cut = [row[:7] for row in ROWS[20:30]]
    seen = tape([*ROWS[:20], *cut, *ROWS[30:]], 2)

    found = find_end_of_history(seen, ROWS, at(34), sure=20)

    assert found is not None
    assert UnwrappedText(ROWS).row(found.position)[0] == 20


def test_history_that_was_overwritten_on_the_screen_is_noticed() -> None:
    seen = tape([*ROWS[:24], *ROWS[30:]], 14)

    found = find_end_of_history(seen, ROWS, at(34), sure=30)

    assert found is not None
    assert UnwrappedText(ROWS).row(found.position)[0] == 24


def test_a_table_written_at_another_width_is_recognised() -> None:
    ours = ["│ one two │ four │", "│ three   │ five │"]
    theirs = ["│ one   │ four │", "│ two   │ five │", "│ three │      │"]
    rows = [*ROWS[:20], *ours, *ROWS[20:]]

    found = find_end_of_history(tape([*ROWS[:20], *theirs, *ROWS[20:]], 8), rows, at(30), sure=28)

    assert found == HistoryMatch(UnwrappedText(rows).position(34), 0)


def test_history_ends_before_a_damaged_row_on_the_screen() -> None:
    seen = tape([*ROWS[:27], "row 27 has something else", *ROWS[28:40]], 15)

    assert find_end_of_history(seen, ROWS, at(30), sure=25) == HistoryMatch(
        TextPosition(before(27).letters), 2
    )


def test_rows_that_are_all_on_the_screen_are_found_below_the_shell_output() -> None:
    seen = tape(["$ ls", "a b", "$ pi", *ROWS[:3]], 6)

    assert find_end_of_history(seen, ROWS[:3], at(0)) == HistoryMatch(TextPosition(0), 3)


def test_stale_rows_after_history_count_as_part_of_history() -> None:
    stale = ["an older one", "that is no more", "but was said"]
    seen = tape([*ROWS[:30], *stale, *ROWS[30:]], 12)

    assert find_end_of_history(seen, ROWS, at(30)) == HistoryMatch(before(30), 2)
    assert find_end_of_history(tape(seen.rows, 8), ROWS, at(30)) == HistoryMatch(before(32), 0)


def test_a_window_that_does_not_follow_history_directly_is_found() -> None:
    seen = tape([*ROWS[:30], "", "a block above", "that was there before", "", *ROWS[35:]], 8)

    rows = [*ROWS[:35], "", *ROWS[35:]]
    assert find_end_of_history(seen, rows, at(30, 35)) == HistoryMatch(before(30), 2)
    assert find_end_of_history(tape(ROWS[:9], 2), rows, at(30, 35)) is None


def test_none_is_returned_if_the_rows_are_not_found() -> None:
    assert find_end_of_history(tape(["cleared"], 1), ROWS, at(30)) is None


@pytest.mark.behaviour("committed-rows-are-final")
def test_equal_lines_are_distinguished_by_the_following_text() -> None:
    same = ("words that are said again and again", "in every single one of the paragraphs")
    rows = [row for number in range(20) for row in (f"{number:04}", *same, "which ends here")]
    painted, committed, height = 52, 41, 14  # the screen has grown since and has taken rows back

    found = find_end_of_history(tape(rows[:painted], height), rows, at(committed))

    assert found == HistoryMatch(
        UnwrappedText(rows).position(committed), committed - (painted - height)
    )
