from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.word_changes import WordChange, changed_words

LINES = st.text(st.characters(exclude_characters="\r\n"), max_size=80)


def test_only_the_words_that_differ_are_marked() -> None:
    assert changed_words("x = spam(1, 2)", "x = eggs(1, 3)") == (
        [
            WordChange("x = ", differs=False),
            WordChange("spam", differs=True),
            WordChange("(1, ", differs=False),
            WordChange("2", differs=True),
            WordChange(")", differs=False),
        ],
        [
            WordChange("x = ", differs=False),
            WordChange("eggs", differs=True),
            WordChange("(1, ", differs=False),
            WordChange("3", differs=True),
            WordChange(")", differs=False),
        ],
    )


def test_added_words_are_marked_in_the_new_line_only() -> None:
    assert changed_words("return a", "return a + b") == (
        [WordChange("return a", differs=False)],
        [WordChange("return a", differs=False), WordChange(" + b", differs=True)],
    )


def test_lines_with_little_in_common_or_too_long_are_not_marked() -> None:
    assert changed_words("one", "two words") == (
        [WordChange("one", differs=False)],
        [WordChange("two words", differs=False)],
    )
    long = "word " * 200
    assert changed_words(long, long + "x") == (
        [WordChange(long, differs=False)],
        [WordChange(long + "x", differs=False)],
    )


@given(LINES, LINES)
def test_the_pieces_are_the_lines(old: str, new: str) -> None:
    was, now = changed_words(old, new)

    assert "".join(piece.text for piece in was) == old
    assert "".join(piece.text for piece in now) == new
    alike = ["".join(piece.text for piece in pieces if not piece.differs) for pieces in (was, now)]
    assert alike[0] == alike[1] or not any(piece.differs for piece in (*was, *now))
