from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.terminal_text import sanitise
from pi.coding.export.html.markup import Html, esc, join, opening, tag


class Reader(HTMLParser):
    """Collects the start tags and the text of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def read(markup: str) -> list[object]:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader.found


@pytest.mark.behaviour("export-is-escaped")
@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_and_attribute_are_escaped_into_one_element(text: str, value: str) -> None:
    events = read(tag("p", esc(text), title=value))

    assert events[0] == ("p", [("title", sanitise(value))] if value else [])
    assert "".join(map(str, events[1:])) == sanitise(text)


def test_control_sequences_and_bidi_characters_are_removed() -> None:
    assert esc("a\x1b[31mb\x00c\u202ed") == "abcd"


def test_attributes_are_written_in_html_syntax() -> None:
    assert tag("a", Html("x"), class_="c", data_n=0, hidden=True, open=False, title="") == (
        '<a class="c" data-n="0" hidden>x</a>'
    )


def test_empty_elements_are_not_closed() -> None:
    assert join((tag("img", src="s"), tag("br"), opening("ol", start=2))) == (
        '<img src="s"><br><ol start="2">'
    )
