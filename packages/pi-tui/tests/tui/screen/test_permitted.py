from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from pi.tui.component import PROMPT_MARK
from pi.tui.images.graphics import Graphics, picture
from pi.tui.images.protocols import CellExtent, place
from pi.tui.screen.rows import permitted
from pi.tui.text.ansi import link
from pi.tui.text.width import visible_width

PIECES = ("\x1b", "[", "]8;;", "\x1b]8;;", "http://", "\x07", "\\", "31m", "\x9b", "\x9d", "\u202e")


@pytest.mark.parametrize(
    "row",
    [
        "text, größe, 日本",
        "\x1b[1;38;2;1;2;3mstyled\x1b[0m\x1b[4:3m",
        link("https://example.com/a b", "link"),
        link("MAILTO:a@example.com", "mail"),
        "\x1b]8;id=a1;http://example.com\x1b\\link\x1b]8;;\x1b\\",
        place(7, CellExtent(4, 2)),
        f"{PROMPT_MARK}a prompt",
    ],
)
def test_styles_links_and_pictures_are_kept(row: str) -> None:
    assert permitted(row) == row


@pytest.mark.parametrize("protocol", ["iterm2", "sixel"])
@pytest.mark.parametrize("height", [1, 3])
def test_pictures_drawn_from_their_last_row_are_kept(protocol: str, height: int) -> None:
    png = BytesIO()
    Image.new("RGB", (4, 9), "red").save(png, "PNG")
    shown = picture(png.getvalue(), name="odd\x1b]0;x\x07 name")
    rows = Graphics(protocol, write=print).rows(1, shown, CellExtent(4, height))  # type: ignore[arg-type]

    assert rows is not None
    assert [permitted(row) for row in rows] == rows


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b[2Jb\x1b[Hc", "abc"),
        ("a\x9b2Jb\x9d0;x\x9c", "a2Jb0;x"),
        ("a\rb\x08c\x7f\x1bcd", "abcd"),
        ("a\u202eb\u2066c", "abc"),
        ("\x1b]8;;file:///etc/passwd\x07a\x1b]8;;\x07", "a\x1b]8;;\x07"),
        ("\x1b]8;;javascript:x\x1b\\a", "a"),
        ("\x1b]8;;http://x\x18\x9by\x07a", "a"),
        ("\x1b]52;c;aGk=\x07a", "a"),
        ("\x1b_Ga=t,t=t,f=100;L2V0Yw==\x1b\\a", "a"),
        ("\x1b]1337;File=name=eA==;inline=0:aGk=\x07a", "a"),
        ("\x1b7\x1b]1337;File=inline=1;inline=0:aGk=\x07\x1b8a", "a"),
        ("\x1b7\x1b[9Aa\x1b8", "a"),
        ("\x1bP0;1;0q#\x1b\\a", "a"),
        ("unfinished \x1b]0;rest", "unfinished "),
        ("\x1b[?1049h\x1b[6na", "a"),
    ],
)
def test_forbidden_sequences_are_removed(row: str, kept: str) -> None:
    assert permitted(row) == kept


@given(st.lists(st.sampled_from((*PIECES, "x", "\x1b[1m")), max_size=12).map("".join))
@example("\x1b\x1b[2J[2J")
def test_filtering_cannot_create_new_sequences(row: str) -> None:
    kept = permitted(row)

    assert permitted(kept) == kept
    assert visible_width(kept) == visible_width(row)
