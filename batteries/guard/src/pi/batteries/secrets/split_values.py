"""Finds secrets with something between their characters, or with escaped characters. Pure.

``decode`` and ``squeeze`` remove what may be between characters, so that one fast search shows
whether a value occurs at all. Only then ``Squeezed`` repeats the same steps with the positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from typing import TypeAlias

Replacement: TypeAlias = bytes | Callable[[re.Match[bytes]], bytes]

# Each pattern begins with one plain character: ``re`` then searches ten times as fast.
_CODE = re.compile(
    rb"\\(?:(?:u00|U000000|x)([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{2,6})(?:\}|(?<=u[0-9a-fA-F]{4}))"
    rb"|([0-3][0-7]{2})|e(?=[\[\]]))"
)
_CARET = re.compile(rb"\^\[(?=[\[\]])")
_CONTROL = re.compile(
    rb"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]{0,2000}(?:\x07|\x1b\\*)"
    rb"|[ -/]+[0-~]|[0-Z\\^-~])"
)
_C1 = re.compile(rb"\xc2\x9b[0-9;:?]*[ -/]*[@-~]|\xc2[\x80-\xa0]")
_OVERSTRIKE = re.compile(rb"[^\x08]\x08")
_PERCENT = re.compile(rb"%(?:25)?([0-9a-fA-F]{2})")
_ENTITY = re.compile(rb"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos|sol|plus);")
_SHORT = re.compile(rb"\\[nrt]")
_REMOVED = b"\\\x7f" + bytes(range(0x21))
_REMAINS = re.compile(rb"[" + re.escape(_REMOVED) + rb"]+")
_LINE_ENDS = tuple(
    end + blank + b"\n"
    for end in (b'" +', b"' +", b'"', b"'", b"=", b"$", b"|", b"\xe2\x94\x82", b"\xe2\x94\x83")
    for blank in (b"", b" ")
)
_MARGINS = (
    re.compile(
        rb"\n(?:[ \t]*[0-9]{1,6}[ \t]*(?:[:|\t]|  |\xe2\x94\x82|\xe2\x86\x92))?[ \t]*[\"']?"
    ),
    re.compile(rb"\n[ \t]*(?:\xe2\x94[\x82\x83]|//|[>|#;+*-])[ \t]*"),
    re.compile(
        rb"\n(?:[ \t]*(?:--|\+\+)[ \t]*|[^\s:]{1,200}[:-][0-9]{1,6}[:-]|[\w.-]{1,60}[ \t]*\|[ \t])"
    ),
)
"""Beginnings of lines: numbers or quotation marks; signs of quotations, comments, tables, diffs;
names of files with numbers, of services. Each is tried on its own, as the sign may be a part of the
value."""
_NEW_LINE = re.compile(rb"[\n\r\x0b\x0c\x85]|\\+[nr]|\xe2\x80[\xa8\xa9]")


def _character(match: re.Match[bytes]) -> bytes:
    if match[2]:
        code = int(match[2], 16)
        # Halves of a pair stay: a value with an emoji is found in its literal form.
        return match[0] if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code).encode()
    if match[1] or match[3]:
        return chr(int(match[1], 16) if match[1] else int(match[3], 8)).encode()
    return b"\x1b"


def _octet(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)])


def _named(match: re.Match[bytes]) -> bytes:
    return unescape(match[0].decode()).encode("utf-8", "replace")


_INVISIBLE = (
    (b"\xc2\xad", b""),
    (b"\xcd\x8f", b""),
    (b"\xd8\x9c", b""),
    (b"\xe1\xa0", b"[\x8b-\x8f]"),
    (b"\xe2\x80", b"[\x8b-\x8f\xa8-\xae]"),
    (b"\xe2\x81", b"[\xa0-\xaf]"),
    (b"\xef\xb8", b"[\x80-\x8f]"),
    (b"\xef\xbb", b"\xbf"),
    (b"\xf3\xa0", b"[\x80-\x87][\x80-\xbf]"),
)
"""Characters without width, marks of direction, separators of lines: start and end."""
_STEPS: tuple[tuple[bytes, re.Pattern[bytes], Replacement], ...] = (
    (b"%", _PERCENT, _octet),
    (b"&", _ENTITY, _named),
    (b"\\", _CODE, _character),
    (b"^[", _CARET, b"\x1b"),
    (b"\x1b", _CONTROL, b""),
    (b"\xc2", _C1, b""),
    (b"\x08", _OVERSTRIKE, b""),
    *((start, re.compile(re.escape(start) + end), b"") for start, end in _INVISIBLE),
)
"""What each step replaces, with a text that every match contains."""


def decode(data: bytes) -> bytes:
    """UTF-8 without colours, links and invisible characters, and with decoded escapes."""
    for needle, pattern, replacement in _STEPS:
        if needle in data:
            data = pattern.sub(replacement, data)
    return data


def squeeze(decoded: bytes) -> bytes:
    """What ``decode`` returns without white space, control characters and backslashes."""
    if b"\\" in decoded:
        decoded = _SHORT.sub(b"", decoded)
    return decoded.translate(None, _REMOVED)


def without_margins(data: bytes) -> Iterator[bytes]:
    """Yield the text without what stands at the margins of lines, for each kind of margin."""
    lines = _with_line_ends(data)
    if b"\n" in lines:
        for margin in _MARGINS:
            yield margin.sub(b"\n", lines)


def blanked_margins(data: bytes) -> Iterator[bytes]:
    """Yield what ``without_margins`` does, with blanks instead, so that positions stay."""
    lines = _with_line_ends(data)
    if b"\n" in lines:
        for margin in _MARGINS:
            yield margin.sub(lambda match: b"\n" + b" " * (len(match[0]) - 1), lines)


def _with_line_ends(data: bytes) -> bytes:
    data = data.replace(b"\\n", b" \n").replace(b"\r\n", b" \n")
    for end in _LINE_ENDS:
        data = data.replace(end, b" " * (len(end) - 1) + b"\n")
    return data


def changed_lines(data: bytes, decoded: bytes) -> bytes:
    """The lines that ``decode`` has changed."""
    if decoded == data:
        return b""
    before, after = data.split(b"\n"), decoded.split(b"\n")
    if len(before) != len(after):  # a sequence contained a line break
        return decoded
    return b"\n".join(new for old, new in zip(before, after, strict=True) if new != old)


_SPLITS = re.compile(r"[\x00-\x1f\x7f\\%&]|\^\[")


def may_be_split(text: str) -> bool:
    """Whether a text has anything that could stand between or for the characters of a value."""
    return not text.isascii() or _SPLITS.search(text) is not None


class Squeezed:
    """A text after ``decode`` and ``squeeze`` that knows the positions of its bytes."""

    def __init__(self, data: bytes, source: bytes | None = None) -> None:
        self._source = data if source is None else source
        self.data = data
        self._starts: list[int] = [*range(len(data))]
        self._ends: list[int] = [*range(1, len(data) + 1)]
        for needle, pattern, replacement in _STEPS:
            if needle in self.data:
                self._replace(pattern, replacement)
        self._replace(_SHORT, b"")
        self._replace(_REMAINS, b"")

    def _replace(self, pattern: re.Pattern[bytes], replacement: Replacement) -> None:
        pieces: list[bytes] = []
        starts: list[int] = []
        ends: list[int] = []
        last = 0
        for match in pattern.finditer(self.data):
            start, end = match.span()
            new = replacement if isinstance(replacement, bytes) else replacement(match)
            pieces += (self.data[last:start], new)
            starts += (*self._starts[last:start], *[self._starts[start]] * len(new))
            ends += (*self._ends[last:start], *[self._ends[end - 1]] * len(new))
            last = end
        if not pieces:
            return
        self.data = b"".join((*pieces, self.data[last:]))
        self._starts = [*starts, *self._starts[last:]]
        self._ends = [*ends, *self._ends[last:]]

    def spans(self, value: Squeezed) -> Iterator[tuple[int, int]]:
        """Yield start and end of each occurrence of a value in the source."""
        position = self.data.find(value.data)
        while position >= 0:
            end = position + len(value.data)
            if self._is_together(position, value):
                yield self._starts[position], self._ends[end - 1]
                position = end - 1
            position = self.data.find(value.data, position + 1)

    def _is_together(self, position: int, value: Squeezed) -> bool:
        """Whether blanks are only at wraps, and where the value has some."""
        for index in range(len(value.data) - 1):
            gap = self._gap(position + index)
            has_blank = (b" " in gap or b"\t" in gap) and not _NEW_LINE.search(gap)
            if has_blank and not value._gap(index).strip(b"\\"):
                return False
        return True

    def _gap(self, index: int) -> bytes:
        return self._source[self._ends[index] : self._starts[index + 1]]


def without_overlaps(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans in order, without those that overlap an earlier one."""
    last = 0
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if start >= last:
            yield start, end
            last = end
