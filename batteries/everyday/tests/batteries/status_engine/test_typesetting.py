from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.status_engine.items import TextMetrics
from pi.batteries.status_engine.views import TYPESETTING

PLAIN = TextMetrics()


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (10, "0123456789"),
        (9, "0123…6789"),
        (8, "0123…789"),
        (3, "0…9"),
        (2, "0…"),
        (1, "…"),
        (0, ""),
        (-1, ""),
    ],
)
def test_a_long_text_is_truncated_in_the_middle(width: int, text: str) -> None:
    assert PLAIN.centred("0123456789", width) == text


def test_a_long_text_is_truncated_at_the_end() -> None:
    assert [PLAIN.fitted("01234", width) for width in (5, 4, 1, 0)] == ["01234", "012…", "…", ""]


def test_without_a_screen_only_printable_characters_are_let_through() -> None:
    assert PLAIN.plain("a\x1b[31mb\tc\n\u202ed ") == "a [31mb c d"
    assert PLAIN.styled("a\x1b[31mb") == "a [31mb"


@given(st.text(), st.integers(0, 40))
def test_no_text_is_wider_than_it_may_be(text: str, width: int) -> None:
    line = TYPESETTING.plain(text)

    assert TYPESETTING.width(TYPESETTING.centred(line, width)) <= width
    assert TYPESETTING.width(TYPESETTING.fitted(line, width)) <= width


def test_wide_characters_are_cut_by_columns() -> None:
    assert TYPESETTING.centred("分支名称很长很长", 9) == "分支…很长"
