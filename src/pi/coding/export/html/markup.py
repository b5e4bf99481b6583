"""HTML as a type of its own: what is not escaped cannot be put into a page by mistake."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pi.base.terminal_text import sanitise


EMPTY = ("br", "hr", "img", "input")
"""Elements that hold nothing and are not closed."""


class Html(str):
    """Markup that is safe as it stands. Only this module should make it."""

    __slots__ = ()


def esc(text: str) -> Html:
    """``text`` to be read: without control sequences, and with nothing that HTML would act on."""
    return Html(escape(sanitise(text)))


def tag(name: str, *children: Html, **attributes: str | int | bool) -> Html:
    """An element with its attributes, as ``opening`` takes them, and what is in it."""
    begin = opening(name, **attributes)
    return begin if name in EMPTY else Html(f"{begin}{''.join(children)}</{name}>")


def opening(name: str, **attributes: str | int | bool) -> Html:
    """The beginning of an element, for what is written piece by piece.

    Attributes are escaped; ``class_`` and ``data_n`` become ``class`` and ``data-n``. True stands
    for an attribute without a value; False and the empty text leave it out.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{name}{given}>")


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Pieces of markup one after the other; ``between`` is text."""
    return Html(escape(between).join(parts))


def _attribute(key: str, value: str | int | bool) -> str:
    if value is False or value == "":
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{esc(str(value))}"'
