"""The text of a file and the form it is kept in: encoding, byte order mark, line ends. Pure."""

from __future__ import annotations

import codecs
from typing import Literal

from pi.base.errors import PiError
from pi.base.records import Record

LOOKED_AT = 4096
"""Bytes at the beginning of a file that say how it is written."""

_MARKS: tuple[tuple[bytes, Literal["utf-8", "utf-16-le", "utf-16-be"]], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NotText(PiError):
    """A file whose bytes are not text: writing it back would damage it."""


class TextForm(Record):
    """How a text is written as bytes."""

    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"] = "utf-8"
    mark: bytes = b""
    """The byte order mark at the beginning."""
    line_end: Literal["\n", "\r\n"] = "\n"
    """The one that most lines end with."""

    def encode(self, text: str) -> bytes:
        """``text`` as bytes of this form; line ends stay as they are in it."""
        return self.mark + text.encode(self.encoding)


def form_of(data: bytes) -> TextForm:
    """The form that the first bytes of a file, and its line ends, speak for."""
    mark, encoding = next((row for row in _MARKS if data.startswith(row[0])), (b"", _MARKS[0][1]))
    if encoding != "utf-8" and 0 not in data[:LOOKED_AT]:
        mark, encoding = b"", "utf-8"  # every text of two bytes a letter has a space or a line end
    carriage = "\r\n".encode(encoding)
    returns = data.count(carriage)
    lines = data.count("\n".encode(encoding))
    return TextForm(
        encoding=encoding, mark=mark, line_end="\r\n" if returns > lines - returns else "\n"
    )


def shown_text(data: bytes) -> str:
    """The text without its mark, with U+FFFD for what is none."""
    form = form_of(data)
    return data[len(form.mark) :].decode(form.encoding, "replace")


def decode(data: bytes) -> tuple[str, TextForm]:
    """The text without its mark, and its form; ``NotText`` if that would lose anything."""
    form = form_of(data)
    try:
        return data[len(form.mark) :].decode(form.encoding), form
    except UnicodeDecodeError as problem:
        raise NotText(
            f"It is not valid {form.encoding.upper()}: byte 0x{data[problem.start]:02x} "
            f"at offset {problem.start + len(form.mark)}."
        ) from problem
