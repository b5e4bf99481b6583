from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.transcript.tool_views.file_tools import Piece, changed_words

LINES = st.text(st.characters(exclude_characters="\r\n"), max_size=80)


def test_only_the_words_that_differ_are_marked() -> None:
    assert changed_words("x = spam(1, 2)", "x = eggs(1, 3)") == (
        [
            Piece("x = ", differs=False),
            Piece("spam", differs=True),
            Piece("(1, ", differs=False),
            Piece("2", differs=True),
            Piece(")", differs=False),
        ],
        [
            Piece("x = ", differs=False),
            Piece("eggs", differs=True),
            Piece("(1, ", differs=False),
            Piece("3", differs=True),
            Piece(")", differs=False),
        ],
    )


def test_what_was_only_added_has_no_counterpart() -> None:
    assert changed_words("return a", "return a + b") == (
        [Piece("return a", differs=False)],
        [Piece("return a", differs=False), Piece(" + b", differs=True)],
    )


def test_lines_that_have_little_in_common_are_left_alone() -> None:
    assert changed_words("one", "two words") == (
        [Piece("one", differs=False)],
        [Piece("two words", differs=False)],
    )
    long = "word " * 200
    assert changed_words(long, long + "x") == (
        [Piece(long, differs=False)],
        [Piece(long + "x", differs=False)],
    )


@given(LINES, LINES)
def test_the_pieces_are_the_lines(old: str, new: str) -> None:
    was, now = changed_words(old, new)

    assert "".join(piece.text for piece in was) == old
    assert "".join(piece.text for piece in now) == new
    alike = ["".join(piece.text for piece in pieces if not piece.differs) for pieces in (was, now)]
    assert alike[0] == alike[1] or not any(piece.differs for piece in (*was, *now))
