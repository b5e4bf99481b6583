"""Prints text on pictures. Pure and deterministic; slow, so callers run it in a thread."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import NamedTuple

from pi.batteries.snapcompact.font import HEIGHT, WIDTH, glyph, printable
from pi.batteries.snapcompact.history import Piece
from pi.batteries.snapcompact.shapes import GUTTER, FrameShape
from pi.extension import Image, Record

_PAPER, _BLACK, _GREY = 0, 1, 2
_HUES = (1, 3, 4)
"""Inks between which sentences alternate."""
_PALETTE = bytes((255, 255, 255, 0, 0, 0, 140, 140, 140, 20, 40, 140, 120, 40, 10))
_SEPARATOR = "  "
MOST_MISSING = 0.05
"""Share of the characters that may have no glyph."""
LOST_CHARACTERS = 12
LOST_PART = 0.2
"""A message is unreadable if more characters than both limits have no glyph."""
_LITTLE_MEANING = (
    "a an and are as at be been but by can could did do does for from had has have he her his i if"
    " in into is it its me my not of on or our she should so some such than that the their them"
    " then there these they this those to up was we were what when which who will with would you"
    " your"
)
_STOP_WORDS = frozenset(_LITTLE_MEANING.split())
_WORDS = re.compile(r"[A-Za-z']+|[^A-Za-z']+")
_SENTENCE_END = re.compile(r"(?<=[.!?⏎])(?=\s|[A-Z\[])")


class Line(NamedTuple):
    """Characters of the font, and the ink of each.

    Two strings instead of pairs: garbage collection of a million small objects would stop the
    event loop for a noticeable time.
    """

    text: str
    inks: bytes


class FramePage(Record):
    """The text of one picture."""

    lines: tuple[Line, ...]
    text: str
    """The page as plain text."""


class Printed(Record):
    """Text in pages, and the number of characters without a glyph."""

    pages: tuple[FramePage, ...]
    characters: int
    missing: int
    has_lost_message: bool = False
    """Whether a message of the conversation is mostly in a script that the font lacks."""

    @property
    def is_readable(self) -> bool:
        """Whether few enough characters are missing."""
        is_rare = self.missing <= MOST_MISSING * max(1, self.characters)
        return is_rare and not self.has_lost_message


def paginate(pieces: Sequence[Piece], shape: FrameShape) -> Printed:
    """Break the text into pages of at most the capacity of a picture."""
    texts: list[str] = []
    inks = bytearray()
    missing = 0
    has_lost = False
    for piece in pieces:
        text, unknown = printable(piece.text + _SEPARATOR)
        missing += unknown
        # Per message: long results in ASCII must not hide that a message of the user is lost.
        is_lost = unknown > max(LOST_CHARACTERS, LOST_PART * len(text))
        has_lost = has_lost or (is_lost and not piece.is_output)
        texts.append(text)
        for length, ink in _ink_runs(text, shape, is_output=piece.is_output):
            inks += bytes((ink,)) * length
    line = Line("".join(texts), bytes(inks))
    lines = list(_wrap_line(line, shape) if shape.columns > 1 else _cut(line, shape.characters))
    parts = (lines[start : start + shape.lines] for start in range(0, len(lines), shape.lines))
    pages = [
        FramePage(lines=tuple(part), text="".join(line.text for line in part).rstrip())
        for part in parts
    ]
    return Printed(
        pages=tuple(pages),
        characters=len(line.text),
        missing=missing,
        has_lost_message=has_lost,
    )


def _ink_runs(text: str, shape: FrameShape, *, is_output: bool) -> Iterator[tuple[int, int]]:
    """Yield lengths with their inks."""
    if is_output:
        yield len(text), _GREY
        return
    hues = cycle(_HUES if shape.hues else (_BLACK,))
    for sentence in _SENTENCE_END.split(text) if shape.hues else (text,):
        ink = next(hues)
        # Not ``findall``: one call for a long text would block other threads and the event loop.
        for word in (match[0] for match in _WORDS.finditer(sentence)):
            is_dim = shape.dims and word.lower() in _STOP_WORDS
            yield len(word), _GREY if is_dim else ink


def _cut(line: Line, length: int) -> Iterator[Line]:
    ends = range(0, len(line.text), length)
    return (
        Line(line.text[start : start + length], line.inks[start : start + length]) for start in ends
    )


def _wrap_line(line: Line, shape: FrameShape) -> Iterator[Line]:
    """Break lines at the last blank that fits."""
    start, most = 0, shape.characters
    while start < len(line.text):
        end = min(start + most, len(line.text))
        if end < len(line.text):
            blank = line.text.rfind(" ", start + most // 2, end)
            end = blank + 1 if blank >= 0 else end
        yield Line(line.text[start:end], line.inks[start:end])
        start = end


def draw(page: FramePage, shape: FrameShape) -> Image:
    """Print a page; the height of the picture follows its number of lines."""
    # Deferred: 20 ms, and only a compaction needs it.
    from PIL import Image as Pictures

    width, height = shape.cell
    rows_per_column = -(-min(len(page.lines), shape.lines) // shape.columns)
    if shape.columns > 1:
        rows_per_column = min(len(page.lines), shape.lines // shape.columns)
    blank = bytes(width)
    cells = _Cells(shape)
    strips: list[bytes] = []
    for row in range(rows_per_column):
        row_numbers = (row + column * rows_per_column for column in range(shape.columns))
        parts = [
            page.lines[number] if number < len(page.lines) else _NOTHING for number in row_numbers
        ]
        drawn = [[cells[pair] for pair in zip(part.text, part.inks, strict=True)] for part in parts]
        padding = [blank * (shape.characters - len(part.text)) for part in parts]
        for line in range(height):
            columns = [
                b"".join([cell[line] for cell in part]) + pad
                for part, pad in zip(drawn, padding, strict=True)
            ]
            strips.append(bytes(GUTTER).join(columns).ljust(shape.width, b"\0"))
    picture = Pictures.frombytes("P", (shape.width, len(strips)), b"".join(strips))
    picture.putpalette(_PALETTE)
    file = io.BytesIO()
    picture.save(file, "PNG", bits=4, compress_level=6)
    return Image(data=b64encode(file.getvalue()).decode(), mime_type="image/png")


_NOTHING = Line("", b"")


class _Cells(dict[tuple[str, int], tuple[bytes, ...]]):
    """Cache of the pixel rows of characters in their cells, by character and ink."""

    def __init__(self, shape: FrameShape) -> None:
        super().__init__()
        self._shape = shape

    def __missing__(self, key: tuple[str, int]) -> tuple[bytes, ...]:
        width, height = self._shape.cell
        rows = glyph(key[0]) or ()
        wide = self._shape.is_wide
        lines = [_line(bits, key[1], wide=wide).ljust(width, b"\0") for bits in rows]
        above = (height - HEIGHT) // 2
        cell = [bytes(width)] * above + lines
        self[key] = padded = tuple(cell + [bytes(width)] * (height - len(cell)))
        return padded


_WIDE = (0, 1, 1, 2, 3, 3, 4)
"""Source columns of a letter seven pixels wide: its outer strokes stay thin."""


def _line(bits: int, ink: int, *, wide: bool) -> bytes:
    columns = _WIDE if wide else range(WIDTH)
    return bytes(ink if bits >> (WIDTH - 1 - column) & 1 else _PAPER for column in columns)
