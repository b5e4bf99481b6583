from __future__ import annotations

import unicodedata

import pytest

from pi.tui.images import protocols
from pi.tui.images.protocols import CellExtent
from pi.tui.text.width import visible_width


def test_a_short_picture_is_sent_in_one_piece() -> None:
    assert protocols.transmit(7, "AAAA") == "\x1b_Ga=t,f=100,q=2,i=7,m=0;AAAA\x1b\\"


def test_a_long_picture_is_sent_in_chunks_of_4096() -> None:
    sent = protocols.transmit(7, "A" * 4096 + "B" * 4096 + "C")

    assert sent == (
        f"\x1b_Ga=t,f=100,q=2,i=7,m=1;{'A' * 4096}\x1b\\"
        f"\x1b_Gq=2,m=1;{'B' * 4096}\x1b\\"
        "\x1b_Gq=2,m=0;C\x1b\\"
    )


def test_a_picture_is_placed_without_moving_the_cursor() -> None:
    assert protocols.place(7, CellExtent(4, 2)) == "\x1b_Ga=p,q=2,C=1,i=7,p=1,c=4,r=2\x1b\\"
    assert (
        protocols.place_virtually(7, CellExtent(4, 2)) == "\x1b_Ga=p,U=1,q=2,i=7,p=1,c=4,r=2\x1b\\"
    )
    assert protocols.delete(7) == "\x1b_Ga=d,d=I,i=7,q=2\x1b\\"


@pytest.mark.behaviour("inline-images")
def test_a_picture_higher_than_the_remaining_rows_is_removed_from_its_row() -> None:
    row = f"a{protocols.place(7, CellExtent(4, 2))}b"

    assert [protocols.clipped(row, rows_left) for rows_left in (3, 2, 1)] == [row, row, "ab"]
    assert (protocols.placed([row, "c"]), protocols.placed(["ab"])) == ({7}, set())
    assert protocols.hide(7) == "\x1b_Ga=d,d=i,i=7,p=1,q=2\x1b\\"


@pytest.mark.behaviour("inline-images")
def test_placeholders_are_text_as_wide_as_the_picture() -> None:
    rows = protocols.placeholders(0x010203, CellExtent(3, 2))

    assert rows == [
        "\x1b[38;2;1;2;3m\U0010eeee\u0305\u0305\U0010eeee\U0010eeee\x1b[39m",
        "\x1b[38;2;1;2;3m\U0010eeee\u030d\u0305\U0010eeee\U0010eeee\x1b[39m",
    ]
    assert [visible_width(row) for row in rows] == [3, 3]


def test_the_diacritics_for_rows_are_unique_and_combine_above_the_character() -> None:
    rows = protocols.placeholders(1, CellExtent(1, protocols.MAX_ROWS))
    marks = [row.split("\U0010eeee")[1][0] for row in rows]

    assert len(set(marks)) == protocols.MAX_ROWS
    assert {unicodedata.combining(mark) for mark in marks} == {230}
