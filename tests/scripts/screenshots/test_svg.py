from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from scripts.screenshots.svg import BACKGROUND, FOREGROUND, Cell, colour, picture

PLAIN: dict[str, Any] = {
    "bold": False,
    "italic": False,
    "inverse": False,
    "strikethrough": False,
    "underline": 0,
    "fg": None,
    "bg": None,
}


def cells(text: str, **style: Any) -> list[Cell]:
    return [Cell(character, {**PLAIN, **style}) for character in text]


def elements(rows: list[list[Cell]], name: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(picture(rows, title="a <b>"))
    return root.findall("{http://www.w3.org/2000/svg}" + name)


def test_characters_of_one_style_are_one_text_element() -> None:
    [first, second] = elements([cells("ab") + cells("c <", bold=True, fg=("palette", 1))], "text")

    assert (first.text, second.text) == ("ab", "c <")
    assert (first.get("fill"), first.get("font-weight")) == (FOREGROUND, None)
    assert (second.get("fill"), second.get("font-weight")) == ("#f38ba8", "bold")
    assert float(second.get("x", 0)) > float(first.get("x", 0))


def test_italic_underline_and_strikethrough_are_drawn() -> None:
    [text] = elements([cells("x", italic=True, underline=1, strikethrough=True)], "text")

    assert text.get("font-style") == "italic"
    assert text.get("text-decoration") == "underline line-through"


def test_a_background_is_a_box_and_inverse_swaps_the_colours() -> None:
    [whole, box] = elements([cells(" "), cells("x", inverse=True)], "rect")
    [text] = elements([cells(" "), cells("x", inverse=True)], "text")

    assert whole.get("fill") == BACKGROUND
    assert box.get("fill") == FOREGROUND
    assert text.get("fill") == BACKGROUND


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "#000000"),
        (("rgb", (10, 20, 30)), "#0a141e"),
        (("palette", 16), "#000000"),
        (("palette", 231), "#ffffff"),
        (("palette", 208), "#ff8700"),
        (("palette", 232), "#080808"),
        (("palette", 255), "#eeeeee"),
    ],
)
def test_terminal_colours_are_converted_to_hex(value: Any, expected: str) -> None:
    assert colour(value, "#000000") == expected
