"""Measuring and cutting text by columns, as the place where it is shown does it."""

from __future__ import annotations

from collections.abc import Callable

from pi.extension import Record, sanitise_keeping_style

ELLIPSIS = "…"


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _characters(text: str, start: int, width: int) -> str:
    return text[start : start + width]


def styled_line(text: str) -> str:
    """The first line of ``text``; colours survive, nothing else can command the terminal."""
    return sanitise_keeping_style(text).partition("\n")[0].rstrip()


class Typesetting(Record):
    """How text is treated. By itself it takes every character for a column and allows no style."""

    width: Callable[[str], int] = len
    cut: Callable[[str, int, int], str] = _characters
    """The columns of a text from a start on, so many of them."""
    plain: Callable[[str], str] = _printable
    """One line of harmless text."""
    styled: Callable[[str], str] = _printable
    """The same, in which colours may survive."""

    def centred(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, an ellipsis in its middle if it is longer."""
        whole = self.width(text)
        if whole <= width:
            return text
        if width < 3:
            return self.fitted(text, width)
        right = (width - 1) // 2
        left = width - 1 - right
        return self.cut(text, 0, left) + ELLIPSIS + self.cut(text, whole - right, right)

    def fitted(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, an ellipsis at its end if it is longer."""
        if self.width(text) <= width:
            return text
        return self.cut(text, 0, width - 1) + ELLIPSIS if width > 0 else ""
