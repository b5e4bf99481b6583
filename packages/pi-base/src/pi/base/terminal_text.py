"""Sanitises all text that reaches the terminal.

Text of models, tools, files and titles may contain control sequences that move the cursor, set the
clipboard or hide text. Every sequence is removed together with its payload; line ends become LF; LF
and tab stay. Clean text is returned unchanged after a single regex match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

_SAFE = r"\t\n -~\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff"
"""Everything but C0, C1, DEL, bidi overrides and isolates, and surrogates."""

# A run of safe characters is found twice as fast as the first unsafe one.
_CLEAN = f"[{_SAFE}]*+"

_SEQUENCE = rf"""
    (?=[^{_SAFE}])  # a quick look ahead: trying every branch on plain text costs five times more
    (?: (?P<line_end> \r\n? | [\v\f\x85] )
      # OSC, DCS, SOS, PM, APC and screen's title. The terminators are controls themselves, removed
      # in their own right. A line end stops the payload as well, so that a lost terminator never
      # hides more than the rest of its line.
      | (?P<string> (?: \x1b[\]PX^_k] | [\x90\x98\x9d-\x9f] ) [^\x07\x18\x1a\x1b\x9c\r\n\v\f\x85]* )
      | (?P<csi> (?: \x1b\[ | \x9b ) [0-?]* (?P<middle> [ -/]* ) (?P<final> [@-~] )? )
      | (?P<escape> \x1b [ -/]* (?P<last> [0-~] )? )
      | (?P<surrogate> [\ud800-\udfff] )
      | . )
    """

_IN_PLACE = {"line_end": "\n", "surrogate": "\ufffd"}
_STYLE = r"(?:\x1b\[|\x9b)([0-9;:]*)m"
_RESET = "\x1b[0m"
_LINK = r"(\x1b\]8;;(?:(?i:https?|mailto):[!-~]*)?\x07)"
_LINK_END = "\x1b]8;;\x07"


@cache
def _clean() -> re.Pattern[str]:
    return re.compile(_CLEAN)


def _is_clean(text: str) -> bool:
    """Whether ``text`` needs no change; printable characters are always safe."""
    return text.isprintable() or _clean().fullmatch(text) is not None


@cache
def _sequence() -> re.Pattern[str]:
    """Compiled for the first unclean text, not at import, to keep the start fast."""
    return re.compile(_SEQUENCE, re.VERBOSE)


def sanitise(text: str) -> str:
    """Return ``text`` without control characters except LF and tab.

    CR, CRLF, VT, FF and NEL become LF; lone surrogates become U+FFFD, so that the result can always
    be written as UTF-8.
    """
    if _is_clean(text):
        return text
    return _sequence().sub(_neutral, text)


def sanitise_keeping_style(text: str) -> str:
    """Like ``sanitise``, but keeps colours and other SGR styles, and resets them at the end."""
    if _is_clean(text):
        return text
    cleaned = _sequence().sub(_neutral_or_style, text)
    return cleaned + _RESET if _leaves_style_open(cleaned) else cleaned


def sanitise_keeping_links(text: str) -> str:
    """Like ``sanitise_keeping_style``, but keeps hyperlinks (OSC 8) to the web.

    Styles end where a link begins or ends.
    """
    if "\x1b]8;" not in text:
        return sanitise_keeping_style(text)
    pieces = re.split(_LINK, text)
    texts = [sanitise_keeping_style(piece) for piece in pieces[::2]]
    cleaned = "".join(
        part for pair in zip(texts, (*pieces[1::2], ""), strict=True) for part in pair
    )
    is_open = len(pieces) > 1 and pieces[-2] != _LINK_END
    return cleaned + _LINK_END if is_open else cleaned


def one_line(text: str) -> str:
    """Return ``text`` for a title, a name or a status: sanitised, on one line, with single
    spaces."""
    return " ".join(sanitise(text).split())


def escape_controls(json: str) -> str:
    """Return JSON with every unsafe character as a ``\\u`` escape: the same value, safe to print.

    JSON itself escapes C0 only; DEL, C1 and the bidi overrides may appear unescaped in a string.
    """
    if _is_clean(json):
        return json
    return re.sub(f"[^{_SAFE}]", lambda match: f"\\u{ord(match[0]):04x}", json)


class SanitisedStream:
    """A text stream that sanitises what is written; everything else is delegated to the stream.

    The program replaces ``sys.stdout`` and ``sys.stderr`` with it, so that messages, tracebacks and
    the output of libraries and extensions are sanitised without changes to their callers.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unsanitised = stream
        """For callers that write controls of their own."""

    def write(self, text: str) -> int:
        """Write ``text`` sanitised; a sequence split over two calls loses both of its controls."""
        self.unsanitised.write(sanitise(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unsanitised, name)


MAX_STYLE = 64
"""Characters of a style that may arrive in two chunks."""


class StreamSanitiser:
    """``sanitise`` for text that arrives in chunks.

    The pieces returned by ``feed`` and ``finish`` add up to ``sanitise`` of the whole text. At most
    three characters are held back, however long a sequence is. ``keeps_style`` keeps SGR styles;
    then the beginning of a short sequence is held back, too.
    """

    def __init__(self, *, keeps_style: bool = False) -> None:
        self._held = ""
        self._keeps_style = keeps_style

    def feed(self, chunk: str) -> str:
        """Return the new text that can be shown."""
        text, self._held = self._held + chunk, ""
        if _is_clean(text):
            return text
        return _sequence().sub(self._neutral_or_held, text)

    def finish(self) -> str:
        """Return the rest at the end of the text; the sanitiser is then ready for another one."""
        rest, self._held = self._held, ""
        return sanitise(rest)

    def _neutral_or_held(self, sequence: re.Match[str]) -> str:
        if sequence.end() == len(sequence.string) and (beginning := _unfinished(sequence)):
            is_short = sequence.lastgroup == "csi" and len(sequence[0]) < MAX_STYLE
            self._held = sequence[0] if self._keeps_style and is_short else beginning
            return ""
        return _neutral_or_style(sequence) if self._keeps_style else _neutral(sequence)


def _neutral(sequence: re.Match[str]) -> str:
    return _IN_PLACE.get(sequence.lastgroup or "", "")


def _neutral_or_style(sequence: re.Match[str]) -> str:
    if style := re.fullmatch(_STYLE, sequence[0]):
        return f"\x1b[{style[1]}m"
    return _neutral(sequence)


def _unfinished(sequence: re.Match[str]) -> str:
    """Return the shortest prefix that is continued by the next chunk like this sequence.

    Empty if the sequence is complete. The payload or parameter list so far does not change where it
    ends, so none of it is kept.
    """
    match sequence.lastgroup:
        case "string":
            return "\x1b]"
        case "csi" if sequence["final"] is None:
            return "\x1b[" + sequence["middle"][:1]
        case "escape" if sequence["last"] is None:
            return sequence[0][:2]
        case "line_end" if sequence[0] == "\r":
            return "\r"
        case _:
            return ""


def _leaves_style_open(text: str) -> bool:
    """Whether the last style set is anything but a full reset (no parameters, or zeros)."""
    styles: list[str] = re.findall(_STYLE, text)
    return bool(styles) and styles[-1].strip("0;") != ""
