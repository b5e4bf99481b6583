"""HTML as a type of its own: what is not escaped cannot be put into a page by mistake."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from pi.base.terminal_text import sanitise

Value: TypeAlias = str | int | bool
"""What an attribute can have."""

EMPTY = ("br", "hr", "img", "input")
"""Elements that hold nothing and are not closed."""


class Html(str):
    """Markup that is safe as it stands. Other modules make it only of constants."""

    __slots__ = ()


def esc(text: str) -> Html:
    """``text`` to be read: without control sequences, and with nothing that HTML would act on."""
    return Html(escape(sanitise(text)))


def tag(name: str, *children: Html, **attributes: Value) -> Html:
    """An element with its attributes, as ``opening`` takes them, and what is in it."""
    begin = opening(name, **attributes)
    return begin if name in EMPTY else Html(f"{begin}{''.join(children)}</{name}>")


def opening(name: str, **attributes: Value) -> Html:
    """The beginning of an element, for what is written piece by piece.

    Attributes are escaped; ``class_`` and ``data_n`` become ``class`` and ``data-n``. True stands
    for an attribute without a value; False and the empty text leave it out.
    """
    words = [name]
    for key, value in attributes.items():
        shown = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(shown)
        elif value is not False and value != "":
            words.append(f'{shown}="{esc(str(value))}"')
    return Html(f"<{' '.join(words)}>")


def join(parts: Iterable[Html]) -> Html:
    """Pieces of markup, one after the other."""
    return Html("".join(parts))
