from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.screen.reflow import Reflowed, reflow, same_place
from pi.tui.screen.rows import Caret
from pi.tui.text.wrap import wrap_text


def test_a_lower_screen_loses_rows_at_the_top() -> None:
    rows = [str(number) for number in range(10)]

    assert reflow(rows, Caret(9, 0), width=80, height=6) == Reflowed(cursor_row=5, pushed=4)


def test_rows_below_the_cursor_are_given_up_first() -> None:
    rows = [str(number) for number in range(10)]

    assert reflow(rows, Caret(3, 0), width=80, height=6) == Reflowed(cursor_row=3, pushed=0)


def test_a_narrower_screen_wraps_rows() -> None:
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=20) == Reflowed(4, 0)
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=4) == Reflowed(1, 1, rest=2)
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=2) == Reflowed(1, 1)


def test_what_is_below_the_cursor_is_wrapped_too_and_takes_room() -> None:
    rows = ["a", "b", "c", "x" * 15]

    assert reflow(rows, Caret(2, 0), width=10, height=4) == Reflowed(1, 1)
    assert reflow(rows, Caret(2, 0), below=1, width=10, height=5) == Reflowed(1, 1)


def test_the_same_text_is_found_at_another_width() -> None:
    old = ["words that", "go on", "─" * 10, "> draft"]
    new = ["above", "words", "that", "go on", "─" * 5, "> dra", "ft"]

    assert same_place(["above"], old, new) == 1


def test_rows_that_are_cut_at_their_width_do_not_mislead() -> None:
    history = ["one of the first lines", "and another one"]
    rest = ["", "what is said below the seam", "/a/very/long/path/that/is/cut…", "numbers and more"]
    frame = [
        *("one of the", "first lines", "and another", "one"),
        *("", "what is said", "below the seam", "/a/very/lon…", "numbers…"),
    ]

    assert same_place(history, rest, frame) == 4
    assert same_place([*history, ""], rest[1:], frame) == 5


def test_what_comes_next_counts_more_than_what_was_said_before() -> None:
    again = "the same words again and again"
    history = ["first", again]  # and a row after it that is no more
    rest = ["second and more", again, "third"]

    assert same_place(history, rest, ["first", again, "fourth", *rest]) == 3


def test_of_places_that_look_alike_the_counted_one_is_taken() -> None:
    lines = ["all of these lines look just like the others"] * 9
    old = [row for line in lines for row in wrap_text(line, 24)]
    new = [row for line in lines for row in wrap_text(line, 60)]

    assert [same_place(old[:at], old[at:], new) for at in range(0, 18, 2)] == list(range(9))


def test_a_wide_character_is_not_cut_and_the_cursor_stays_on_its_character() -> None:
    assert reflow(["日本語", "ab"], Caret(1, 0), width=3, height=9) == Reflowed(3, 0)
    assert reflow(["x" * 10], Caret(0, 10), width=10, height=9) == Reflowed(0, 0)
    assert reflow(["日本語"], Caret(0, 6), width=5, height=9) == Reflowed(1, 0)


@given(st.lists(st.text("ab ", min_size=1, max_size=40), max_size=10), st.integers(0, 10))
def test_no_row_is_counted_as_history_that_was_not(lines: list[str], at: int) -> None:
    committed = [row for line in lines[:at] for row in wrap_text(line, 20)]
    rest = [row for line in lines[at:] for row in wrap_text(line, 20)]
    frame = [row for line in lines for row in wrap_text(line, 7)]

    place = same_place(committed, rest, frame)

    letters = sum(map(str.isalnum, "".join(frame[:place])))
    assert letters <= sum(map(str.isalnum, "".join(committed)))
