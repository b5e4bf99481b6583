from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.screen.reflow import (
    HistoryBoundary,
    TextPosition,
    UnwrappedText,
    find_boundary,
    letters,
)
from pi.tui.text.wrap import wrap_text

WIDTH = 100


def seam(
    history: Sequence[str], rest: Sequence[str], frame: Sequence[str], width: int = WIDTH
) -> HistoryBoundary:
    """Returns the end of ``history`` in ``frame``, which has its text followed by ``rest``."""
    old = [*history, *rest]
    return find_boundary(old, UnwrappedText(old).position(len(history)), frame, width=width)


def test_the_same_text_is_found_at_another_width() -> None:
    old = ["words that", "go on", "─" * 10, "> draft"]
    new = ["above", "words", "that", "go on", "─" * 5, "> dra", "ft"]

    assert seam(["above"], old, new) == HistoryBoundary(1)


def test_truncated_rows_do_not_move_the_boundary() -> None:
    history = ["one of the first lines", "and another one"]
    rest = ["", "what is said below the seam", "/a/very/long/path/that/is/cut…", "numbers and more"]
    frame = [
        *("one of the", "first lines", "and another", "one"),
        *("", "what is said", "below the seam", "/a/very/lon…", "numbers…"),
    ]

    assert seam(history, rest, frame) == HistoryBoundary(4)
    assert seam([*history, ""], rest[1:], frame) == HistoryBoundary(5)


def test_following_text_outweighs_preceding_text() -> None:
    again = "the same words again and again"
    history = ["first", again]  # followed by a row that was removed
    rest = ["second and more", again, "third"]

    assert seam(history, rest, ["first", again, "fourth", *rest]) == HistoryBoundary(3)


def test_among_equal_lines_the_one_at_the_expected_position_is_chosen() -> None:
    lines = ["all of these lines look just like the others"] * 9
    old = [row for line in lines for row in wrap_text(line, 24)]
    new = [row for line in lines for row in wrap_text(line, 60)]

    assert [seam(old[:at], old[at:], new) for at in range(0, 18, 2)] == list(
        map(HistoryBoundary, range(9))
    )


@pytest.mark.behaviour("committed-rows-are-final")
def test_the_rest_of_a_row_that_is_partly_in_history_is_carried_over() -> None:
    old = ["   it says one, two,", "   (three) and four.", "the end"]
    new = ["   it says one, two, (three) and", "   four.", "the end"]

    assert seam(old[:1], old[1:], new) == HistoryBoundary(1, ("   (three) and",))
    assert seam(old[:2], old[2:], new) == HistoryBoundary(2)


def test_carried_over_text_keeps_its_colours() -> None:
    old = ["some words \x1b[31min red", "and\x1b[39m not"]
    new = ["some words \x1b[31min red and\x1b[39m", "not"]

    found = seam(old[:1], old[1:], new)

    assert found == HistoryBoundary(1, ("\x1b[31mand\x1b[39m",))


def test_an_emoji_at_the_end_of_a_row_is_not_written_again() -> None:
    old = ["this is a face 🙂", "and these are words"]
    new = ["this is a face 🙂 and these", "are words"]

    assert seam(old[:1], old[1:], new) == HistoryBoundary(1, ("and these",))


def test_rows_of_a_table_are_carried_over_as_they_were() -> None:
    old = [
        *(
            "text above the table",
            "│ alpha  │ gamma  │",
            "│ beta   │ delta  │",
            "│ zeta   │ theta  │",
        ),
        "and what is said below the table",
    ]
    new = [
        *("text above the table", "│ alpha beta zeta │ gamma delta theta │"),
        "and what is said below the table",
    ]

    assert seam(old[:2], old[2:], new) == HistoryBoundary(2, tuple(old[2:4]))
    assert seam(old[:2], old[2:], new, width=12) == HistoryBoundary(2, tuple(old[2:4]))


def test_carried_over_table_rows_with_ambiguous_width_are_wrapped_to_the_width() -> None:
    old = ["text above the table", "│ a 🙂 b c │ d e f │", "and what is said below the table"]
    new = ["text above the table", "│ d 🙂 b │ a c f e │", "and what is said below the table"]

    found = find_boundary(old, TextPosition(letters=18), new, width=12)

    assert found == HistoryBoundary(2, ("🙂 b c │ d e", " f │"))


def test_without_any_match_the_whole_frame_is_written_again() -> None:
    assert find_boundary(["abc"], TextPosition(0), ["xyz", "qrs"], width=WIDTH) == HistoryBoundary(
        0
    )


def test_a_table_at_the_end_is_carried_over_until_both_texts_match() -> None:
    old = [
        "what is said above the table",
        *("│ one two │ six seven │", "│ three   │ eight     │", "├─────────┼───────────┤"),
        *("│ nine    │ ten       │", "working 7"),
    ]
    new = [
        "what is said above the table",
        *("│ one       │ six         │", "│ two three │ seven eight │"),
        *("├───────────┼─────────────┤", "│ nine      │ ten         │", "working 8"),
    ]

    assert seam(old[:2], old[2:], new) == HistoryBoundary(3, (old[2],))
    assert seam(old[:3], old[3:], new) == HistoryBoundary(3)


def test_the_rest_of_a_row_of_a_table_is_carried_over_if_history_ends_inside_of_it() -> None:
    old = [
        "what is said above the table",
        *("│ one two │ six seven │", "│ three   │ eight     │", "├─────────┼───────────┤"),
        *("│ nine    │ ten       │", "working 7"),
    ]
    new = [
        "what is said above the table",
        *("│ one   │ six   │", "│ two   │ seven │", "│ three │ eight │"),
        *("├───────┼───────┤", "│ nine  │ ten   │", "working 8"),
    ]
    begun = len("whatissaidabovethetable") + len("onetwosix")

    assert find_boundary(old, TextPosition(begun), new, width=20) == HistoryBoundary(
        3, ("seven │",)
    )


LINES = st.lists(st.text("ab ", min_size=1, max_size=40), max_size=10)


@given(LINES, st.integers(0, 30))
def test_no_text_is_lost_with_arbitrary_lines_and_boundaries(lines: list[str], at: int) -> None:
    old = [row for line in lines for row in wrap_text(line, 20)]
    new = [row for line in lines for row in wrap_text(line, 7)]

    found = seam(old[:at], old[at:], new, width=7)

    after = "".join(map(letters, [*found.carried, *new[found.row :]]))
    assert after.endswith("".join(map(letters, old[at:])))


@given(
    st.lists(st.integers(1, 40), min_size=3, max_size=10),
    st.integers(0, 60),
    *(st.integers(12, 70) for _ in "ab"),
)
def test_every_word_is_written_exactly_once(
    lengths: list[int], at: int, before: int, after: int
) -> None:
    words = (f"word{number:03}" for number in range(sum(lengths)))
    lines = [" ".join(next(words) for _ in range(length)) for length in lengths]
    old = [row for line in lines for row in wrap_text(line, before)]
    new = [row for line in lines for row in wrap_text(line, after)]
    at = min(at, len(old))

    found = seam(old[:at], old[at:], new, width=after)

    tape = [*old[:at], *found.carried, *new[found.row :]]
    assert " ".join(map(str.strip, tape)) == " ".join(lines)
