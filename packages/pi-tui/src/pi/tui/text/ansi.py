"""Escape sequences in text, and the style state they leave."""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import itemgetter

SEQUENCE = re.compile(
    r"""
    \x1b (?: \[ [0-?]*+ [ -/]*+ [@-~]?                        # CSI
           | [\]PX^_] [^\x07\x1b]*+ (?: \x07 | \x1b\\ | $ )   # OSC, DCS, SOS, PM, APC
           | [ -/]*+ [0-~]? )
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]                           # other controls take no column either
    """,
    re.VERBOSE,
)
"""One escape sequence or control character. Tabs and line feeds are text."""

_HAS_SEQUENCE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_LINK = r"\x1b\]8;([^;]*);([^\x07\x1b]*)"

LINK_END = "\x1b]8;;\x07"
LINKED_SCHEMES = ("http:", "https:", "mailto:")
"""Allowed link targets. Other schemes open files or start programs with one click."""


def has_sequences(text: str) -> bool:
    """Return whether the text contains an escape sequence or control character."""
    return _HAS_SEQUENCE.search(text) is not None


def strip_sequences(text: str) -> str:
    """Remove escape sequences and control characters, except tabs and line feeds."""
    return SEQUENCE.sub("", text) if has_sequences(text) else text


def link(url: str, text: str) -> str:
    """Return the text as a hyperlink (OSC 8); unchanged if the URL is not allowed."""
    if not is_linkable(url):
        return text
    if not _is_plain_url(url):  # terminals may reject other characters
        url = "".join(char if _is_plain_url(char) else _percent(char) for char in url)
    return f"\x1b]8;;{url}\x07{text}{LINK_END}"


def is_linkable(url: str) -> bool:
    """Return whether a click may open the URL."""
    return url.lower().startswith(LINKED_SCHEMES)


def _is_plain_url(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


_ATTRIBUTES = {
    "1": ("bold", "22"),
    "2": ("dim", "22"),
    "3": ("italic", "23"),
    "4": ("underline", "24"),
    "21": ("underline", "24"),
    "5": ("blink", "25"),
    "6": ("blink", "25"),
    "7": ("inverse", "27"),
    "8": ("concealed", "28"),
    "9": ("strike", "29"),
    "53": ("overline", "55"),
    "38": ("colour", "39"),
    "48": ("background", "49"),
    "58": ("underline colour", "59"),
}
"""The slot that a parameter sets, and the parameter that ends it."""
_ATTRIBUTES |= {str(code): ("colour", "39") for code in (*range(30, 38), *range(90, 98))}
_ATTRIBUTES |= {str(code): ("background", "49") for code in (*range(40, 48), *range(100, 108))}

_ENDS: dict[str, tuple[str, ...]] = {"22": ("bold", "dim")} | {
    end: (slot,) for slot, end in _ATTRIBUTES.values() if end != "22"
}
_COLOUR_LENGTHS = {"5": 2, "2": 4}
"""The number of parameters after ``38``: ``5;n`` or ``2;r;g;b``."""


class StyleState:
    """The styles (SGR) and the hyperlink (OSC 8) that are active at a position of a text."""

    def __init__(self) -> None:
        self._styles: dict[str, tuple[str, str]] = {}
        """Active styles by slot: the parameters that start and end each."""
        self._link = ""
        """The sequence that opened the link, without its terminator; empty outside of links."""

    def apply(self, sequence: str) -> bool:
        """Apply a sequence. Returns False if it is neither a style nor a link."""
        if sgr := _SGR.fullmatch(sequence):
            self._apply_parameters(sgr[1].split(";"))
            return True
        if opened := re.match(_LINK, sequence):
            self._link = opened[0] if opened[2] else ""
            return True
        return False

    def opening(self) -> str:
        """Return the sequences that set this state from an unstyled terminal."""
        parameters = ";".join(start for start, _ in self._styles.values())
        style = f"\x1b[{parameters}m" if parameters else ""
        return f"{style}{self._link}\x07" if self._link else style

    def closing(self) -> str:
        """Return the sequences that end exactly this state, not surrounding styles."""
        ends = dict.fromkeys(end for _, end in self._styles.values())
        style = f"\x1b[{';'.join(ends)}m" if ends else ""
        return LINK_END + style if self._link else style

    def _apply_parameters(self, parameters: list[str]) -> None:
        position = 0
        while position < len(parameters):
            code = parameters[position].partition(":")[0]
            length = 1
            if code in ("38", "48", "58") and ":" not in parameters[position]:
                kind = parameters[position + 1] if position + 1 < len(parameters) else ""
                length += _COLOUR_LENGTHS.get(kind, 1)
            self._set(code, ";".join(parameters[position : position + length]))
            position += length

    def _set(self, code: str, start: str) -> None:
        if code.strip("0") == "":
            self._styles.clear()
        elif start == "4:0":
            self._styles.pop("underline", None)
        elif attribute := _ATTRIBUTES.get(code.lstrip("0")):
            self._styles[attribute[0]] = (start, attribute[1])
        else:
            for slot in _ENDS.get(code, ()):
                self._styles.pop(slot, None)


class StyledLine:
    """A styled line that can be split into pieces, each of which closes its styles.

    ``state`` is active before the text. It is updated, so that it can be passed to the next line.
    """

    def __init__(self, text: str, state: StyleState | None = None) -> None:
        self.plain = strip_sequences(text)
        """The text without its sequences; positions are indices into it."""
        self.state = state or StyleState()
        self._marks = _marks(text)
        self._next_mark = 0

    def skip(self, end: int) -> None:
        """Skip the text before ``end``; only its styles are applied."""
        while self._next_mark < len(self._marks) and self._marks[self._next_mark][0] < end:
            self.state.apply(self._marks[self._next_mark][1])
            self._next_mark += 1

    def piece(self, start: int, end: int, *, before: str = "", after: str = "") -> str:
        """Return ``before``, the text from ``start`` to ``end``, and ``after``, with styles.

        Pieces must be requested in order. A sequence at the end of a piece belongs to the next one,
        unless there is none.
        """
        output = _Piece(self.state)
        position = start
        for index, sequence in self._marks_until(end):
            if index > position:
                output.add_text(before + self.plain[position:index])
                before, position = "", index
            output.add_sequence(sequence)
        output.add_text(before + self.plain[position:end] + after)
        return output.finished()

    def _marks_until(self, end: int) -> list[tuple[int, str]]:
        first = self._next_mark
        last = len(self._marks)
        if end < len(self.plain):
            last = bisect_left(self._marks, end, first, key=itemgetter(0))
        self._next_mark = last
        return self._marks[first:last]


class _Piece:
    """Builds a piece. Emits a style only when text follows it."""

    def __init__(self, state: StyleState) -> None:
        self._state = state
        self._is_stale = True
        """Whether the styles changed since they were last written."""
        self._closing = ""
        self._output: list[str] = []

    def add_sequence(self, sequence: str) -> None:
        if self._state.apply(sequence):
            self._is_stale = True
        else:
            self._output.append(sequence)

    def add_text(self, text: str) -> None:
        if not text:
            return
        if self._is_stale:
            self._output += self._closing, self._state.opening()
            self._closing = self._state.closing()
            self._is_stale = False
        self._output.append(text)

    def finished(self) -> str:
        return "".join(self._output) + self._closing


def _marks(text: str) -> list[tuple[int, str]]:
    """Return the sequences of a text with their positions in the plain text."""
    marks: list[tuple[int, str]] = []
    removed = 0
    for match in SEQUENCE.finditer(text):
        marks.append((match.start() - removed, match[0]))
        removed += len(match[0])
    return marks
