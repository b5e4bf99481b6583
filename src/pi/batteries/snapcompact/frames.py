"""Prints text on pictures. Pure and deterministic; slow, so it belongs in a thread."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import cycle

from pi.batteries.snapcompact.font import HEIGHT, WIDTH, glyph, printable
from pi.batteries.snapcompact.history import Piece
from pi.batteries.snapcompact.shapes import GUTTER, FrameShape
from pi.extension import Image, Record

_PAPER, _BLACK, _GREY = 0, 1, 2
_HUES = (1, 3, 4)
"""Inks of sentences, in turn."""
_PALETTE = bytes((255, 255, 255, 0, 0, 0, 140, 140, 140, 20, 40, 140, 120, 40, 10))
_SEPARATOR = "  "
_LITTLE_MEANING = (
    "a an and are as at be been but by can could did do does for from had has have he her his i if"
    " in into is it its me my not of on or our she should so some such than that the their them"
    " then there these they this those to up was we were what when which who will with would you"
    " your"
)
_STOP_WORDS = frozenset(_LITTLE_MEANING.split())
_WORDS = re.compile(r"[A-Za-z']+|[^A-Za-z']+")
_SENTENCE_END = re.compile(r"(?<=[.!?⏎])(?=\s|[A-Z\[])")

Ink = tuple[str, int]
"""A character of the font and its ink."""


class FramePage(Record):
    """The text of one picture."""

    lines: tuple[tuple[Ink, ...], ...]
    text: str
    """The same as plain text."""


class Printed(Record):
    """Text in pages, and how many characters the font does not have."""

    pages: tuple[FramePage, ...]
    characters: int
    missing: int


def paginate(pieces: Sequence[Piece], shape: FrameShape) -> Printed:
    """Break the text into pages of at most the capacity of a picture."""
    inks: list[Ink] = []
    missing = 0
    for piece in pieces:
        text, unknown = printable(piece.text + _SEPARATOR)
        missing += unknown
        inks += _inked(text, shape, is_output=piece.is_output)
    broken = _wrapped(inks, shape) if shape.columns > 1 else _cut(inks, shape.characters)
    lines = list(broken)
    parts = (lines[at : at + shape.lines] for at in range(0, len(lines), shape.lines))
    pages = [FramePage(lines=tuple(part), text=_plain(part)) for part in parts]
    return Printed(pages=tuple(pages), characters=len(inks), missing=missing)


def _plain(lines: Sequence[Sequence[Ink]]) -> str:
    return "".join(char for line in lines for char, _ in line).rstrip()


def _inked(text: str, shape: FrameShape, *, is_output: bool) -> Iterator[Ink]:
    if is_output:
        yield from ((char, _GREY) for char in text)
        return
    hues = cycle(_HUES if shape.hues else (_BLACK,))
    for sentence in _SENTENCE_END.split(text) if shape.hues else (text,):
        ink = next(hues)
        # Lazily: one call for a long text would keep other threads, and the loop, waiting.
        for word in (match[0] for match in _WORDS.finditer(sentence)):
            is_dim = shape.dims and word.lower() in _STOP_WORDS
            yield from ((char, _GREY if is_dim else ink) for char in word)


def _cut(inks: Sequence[Ink], length: int) -> Iterator[tuple[Ink, ...]]:
    return (tuple(inks[at : at + length]) for at in range(0, len(inks), length))


def _wrapped(inks: Sequence[Ink], shape: FrameShape) -> Iterator[tuple[Ink, ...]]:
    """Break lines at the last blank that fits."""
    at, most = 0, shape.characters
    while at < len(inks):
        end = min(at + most, len(inks))
        if end < len(inks):
            blanks = (n for n in range(end, at + most // 2, -1) if inks[n - 1][0] == " ")
            end = next(blanks, end)
        yield tuple(inks[at:end])
        at = end


def draw(page: FramePage, shape: FrameShape) -> Image:
    """Print a page; the picture is as high as its lines need."""
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
        parts = [
            page.lines[at] if (at := row + column * rows_per_column) < len(page.lines) else ()
            for column in range(shape.columns)
        ]
        drawn = [[cells[ink] for ink in part] for part in parts]
        padding = [blank * (shape.characters - len(part)) for part in parts]
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


class _Cells(dict[Ink, tuple[bytes, ...]]):
    """The rows of a character in its cell, made when they are first needed."""

    def __init__(self, shape: FrameShape) -> None:
        super().__init__()
        self._shape = shape

    def __missing__(self, ink: Ink) -> tuple[bytes, ...]:
        width, height = self._shape.cell
        rows = glyph(ink[0]) or ()
        lines = [_line(bits, ink[1], wide=self._shape.is_wide).ljust(width, b"\0") for bits in rows]
        above = (height - HEIGHT) // 2
        cell = [bytes(width)] * above + lines
        self[ink] = made = tuple(cell + [bytes(width)] * (height - len(cell)))
        return made


_WIDE = (0, 1, 1, 2, 3, 3, 4)
"""Columns of a letter of seven pixels: its outer strokes stay thin."""


def _line(bits: int, ink: int, *, wide: bool) -> bytes:
    columns = _WIDE if wide else range(WIDTH)
    return bytes(ink if bits >> (WIDTH - 1 - column) & 1 else _PAPER for column in columns)
