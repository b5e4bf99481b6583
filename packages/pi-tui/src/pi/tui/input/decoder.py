"""Decodes a terminal's bytes to keys, pastes, mouse reports and replies; key listeners.

A key is the string that the terminal sent (``pi.tui.input.keys`` names it), one per character for
plain text. Everything else has a type. Time is an argument: after ``feed``, read ``deadline`` and
call ``expire`` when it has passed and no more bytes are waiting.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from pi.base.records import Record
from pi.tui.input.key_codes import control_character
from pi.tui.input.reports import MouseReport, Reply, parse_mouse, parse_reply
from pi.tui.terminal import Timer, Timers, Timing

PASTE_START = "\x1b[200~"
PASTE_END = "\x1b[201~"


class Paste(Record):
    """Pasted text."""

    text: str

    @property
    def data(self) -> str:
        """The paste as components receive it: bracketed, in one string."""
        return f"{PASTE_START}{self.text}{PASTE_END}"


InputEvent: TypeAlias = str | Paste | MouseReport | Reply

_SEQUENCE = r"""(?x)\x1b (?:
        \[ (?: \[[A-E] | M[^\x1b]{3} | [0-9]{1,2}\$ | (?![\[M]) [0-?]{0,256} [ -/]{0,8} [@-~] )
      | O [0-9]? [A-IMPQRSXa-dj-y]
      | \x1b (?: \[ (?: [A-FHa-d] | [0-9]{1,2}[~$^@] ) | O [A-FHPQRSa-d] )
      | [\]P_^X] [^\x07\x18\x1a\x1b]{0,65536} (?: \x07 | \x1b\\ )
    )"""
"""A complete sequence: CSI (with the variants of the Linux console and X10), SS3, Alt as a second
ESC, or a string (OSC, DCS, APC, PM, SOS).
"""

_BEGINNING = r"""(?x)\x1b (?:
        \[ (?: \[ | M[^\x1b]{0,2} | (?![\[M]) [0-?]{0,256} [ -/]{0,8} )
      | O [0-9]?
      | \x1b (?: \[ [0-9]{0,2} | O )?
      | [\]P_^X] [^\x07\x18\x1a\x1b]{0,65536} \x1b?
    )? \Z"""
"""An incomplete sequence."""

_TORN = r"\x1b(?:\[(?:\[|M[^\x1b]{0,2}|[0-?]*[ -/]*)|O[0-9]?|[\]P_^X][^\x07\x18\x1a\x1b]*|[^\x1b])"
"""The part of a sequence before a byte that cannot belong to it."""

_ORPHAN = r"\[[<?>=][0-9;]|\[\d+;\d+(?:;\d+)*[Rnt]|\]\d+;|_G|P[>!0-9]"
"""The rest of a mouse report or reply whose ESC arrived much earlier. Not typed at once."""
_FOCUS = ("[I", "[O")
"""The same for a report that the window got or lost the keyboard."""
_FOCUS_SECONDS = 1.5
"""Two letters are soon typed by a user, so they are a report only for this long after the ESC."""

_RE_ENCODED = r"\x1b\[(?:\d+;\d+u|27;\d+;\d+~)"
_LONG_LINES = 80
"""Line length at which a single read with an Enter cannot have been typed."""
_CTRL_BACKSPACE = "\x1b[127;5u"


class Decoder:
    """Splits terminal input into events, independent of how the stream is split into reads.

    ``ctrl_backspace`` means that the terminal sends 0x08 for Ctrl+Backspace (Windows Terminal
    does). ``bursts`` treats a single read of several lines as a paste without brackets: it is too
    fast for typing, and each line would be submitted separately.
    """

    def __init__(
        self, timing: Timing | None = None, *, ctrl_backspace: bool = False, bursts: bool = True
    ) -> None:
        self._timing = timing or Timing()
        self._ctrl_backspace = ctrl_backspace
        self._bursts = bursts
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """An incomplete sequence."""
        self._paste: list[str] | None = None
        """The parts of an unfinished paste."""
        self._arrived = 0.0
        self._expired: str | None = None
        """What followed ESC in the last expired input, if it may be the beginning of a reply."""

    def feed(self, data: bytes, now: float) -> list[InputEvent]:
        """Return the events that these bytes complete, in order."""
        text = self._utf8.decode(data)
        if not text:
            return []
        before, self._arrived = self._arrived, now
        if not self._held and self._paste is None:
            if self._expired is not None and self._is_rest(self._expired + text, now - before):
                text = f"\x1b{self._expired}{text}"
            elif text.isascii() and text.isprintable():
                self._expired = None
                return list(text)
            elif self._bursts and _is_burst(text):
                return [Paste(text=text)]
        self._expired = None
        events: list[InputEvent] = []
        rest, self._held = self._held + text, ""
        while rest:
            rest = (
                self._continue_paste(rest, events)
                if self._paste is not None
                else self._keys(rest, events)
            )
        return events

    @property
    def deadline(self) -> float | None:
        """The time at which ``expire`` must be called if nothing more arrives; usually None."""
        if self._paste is not None:
            return self._arrived + self._timing.paste
        match len(self._held):
            case 0:
                return None
            case _ if not self._held.strip("\x1b"):
                return self._arrived + self._timing.escape
            case 2 | 3 if self._held.lstrip("\x1b") in _INTRODUCERS:
                return self._arrived + self._timing.introducer
            case _:
                return self._arrived + self._timing.fragment

    def expire(self, now: float) -> list[InputEvent]:
        """Return pending input as events because its continuation did not arrive in time."""
        if self.deadline is None or now < self.deadline:
            return []
        if self._paste is not None:
            pasted = [*self._paste, self._held]
            self._paste, self._held = None, ""
            return [_pasted("".join(pasted))]
        held, self._held = self._held, ""
        escapes = len(held) - len(held.lstrip("\x1b"))
        rest = held[escapes:]
        self._expired = rest if not rest or rest in _INTRODUCERS else None
        if not rest:
            return ["\x1b"] * escapes
        events: list[InputEvent] = ["\x1b"] * (escapes - 1)
        if rest in _INTRODUCERS:
            events.append("\x1b" + rest)
        return events

    def _is_rest(self, text: str, seconds: float) -> bool:
        """Return whether a text that came this long after an ESC is the rest of a report."""
        if text in _FOCUS:
            return seconds < _FOCUS_SECONDS
        return re.match(_ORPHAN, text) is not None

    def _keys(self, text: str, events: list[InputEvent]) -> str:
        """Extract keys. Returns the text after the start of a paste, or an empty string."""
        position = 0
        while position < len(text):
            escape = text.find("\x1b", position)
            if escape != position:
                events.extend(self._plain(text[position : escape if escape > 0 else None]))
                if escape < 0:
                    break
            if sequence := _compiled(_SEQUENCE).match(text, escape):
                position = sequence.end()
                if sequence[0] == PASTE_START:
                    self._paste = []
                    return text[position:]
                if event := _event(sequence[0]):
                    events.append(event)
            elif _compiled(_BEGINNING).match(text, escape):
                self._held = text[escape:]
                break
            else:
                position = _after_no_sequence(text, escape, events)
        return ""

    def _plain(self, text: str) -> list[str]:
        keys = list(text)
        if self._ctrl_backspace and "\x08" in text:
            keys = [_CTRL_BACKSPACE if key == "\x08" else key for key in keys]
        return keys

    def _continue_paste(self, text: str, events: list[InputEvent]) -> str:
        """Continue a paste. Returns the text after its end, or an empty string."""
        assert self._paste is not None
        end = text.find(PASTE_END)
        if end < 0:
            keep = _overlap(text, PASTE_END)
            self._paste.append(text[: len(text) - keep])
            self._held = text[len(text) - keep :]
            return ""
        self._paste.append(text[:end])
        events.append(_pasted("".join(self._paste)))
        self._paste = None
        return text[end + len(PASTE_END) :]


_INTRODUCERS = ("[", "O", "]", "P", "_", "^", "X")
"""Characters that introduce a sequence after ESC, and are keys with Alt if nothing follows."""


def _event(sequence: str) -> InputEvent | None:
    if sequence == PASTE_END:  # its start was lost, or the paste timed out
        return None
    if sequence.startswith("\x1b[<") and (report := parse_mouse(sequence)):
        return report
    return parse_reply(sequence) or sequence


def _after_no_sequence(text: str, escape: int, events: list[InputEvent]) -> int:
    """Handle an ESC that does not begin a sequence. Returns where to continue.

    Before a character it is Alt; before another ESC it is the Escape key. A sequence interrupted by
    an impossible byte is dropped, so that the key of that byte is not lost.
    """
    torn = _compiled(_TORN).match(text, escape)
    if torn is None:
        events.append("\x1b")
        return escape + 1
    if len(torn[0]) == 2:
        events.append(torn[0])
    return torn.end()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on the first key, to keep the first frame fast."""
    return re.compile(pattern)


def _is_burst(text: str) -> bool:
    """Return whether a read must be a paste: several lines, or a long line with an Enter."""
    if "\x1b" in text or not ("\r" in text or "\n" in text):
        return False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    plain = all(line.replace("\t", "").isprintable() for line in lines)
    return plain and (len(lines) > 2 or (len(lines) == 2 and len(text) >= _LONG_LINES))


def _pasted(text: str) -> Paste:
    """Create a paste. Decodes control characters, which tmux sends as key sequences."""
    if "\x1b[" in text:
        text = re.sub(_RE_ENCODED, lambda key: control_character(key[0]) or key[0], text)
    return Paste(text=text)


def _overlap(text: str, marker: str) -> int:
    """Return how many characters at the end of ``text`` may begin ``marker``."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0


class InputReader:
    """Decodes what a terminal sends and delivers every event in order.

    Calls the decoder again when the rest of a sequence is overdue.
    """

    def __init__(
        self, decoder: Decoder, timers: Timers, handle: Callable[[InputEvent], None]
    ) -> None:
        self._decoder = decoder
        self._timers = timers
        self._handle = handle
        self._overdue: Timer | None = None

    def feed(self, data: bytes) -> None:
        """Handle bytes as they arrived."""
        self._deliver(self._decoder.feed(data, self._timers.time()))

    def stop(self) -> None:
        """Cancel the timer."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _expire(self) -> None:
        self._overdue = None
        self._deliver(self._decoder.expire(self._timers.time()))

    def _deliver(self, events: list[InputEvent]) -> None:
        self.stop()
        deadline = self._decoder.deadline
        if deadline is not None:
            wait = max(deadline - self._timers.time(), 0.0)
            self._overdue = self._timers.call_later(wait, self._expire)
        for event in events:
            self._handle(event)


class InputDecision(Record):
    """A listener's decision about a key before the focused component receives it."""

    consume: bool = False
    """Later listeners and the focused component do not receive the key."""
    data: str | None = None
    """Replaces the key for later listeners and the focused component."""


InputListener: TypeAlias = Callable[[str], InputDecision | None]


class KeyListeners:
    """Listeners that receive every key first, in the order of registration."""

    def __init__(self) -> None:
        self._listeners: list[InputListener] = []

    def add(self, listener: InputListener, *, first: bool = False) -> Callable[[], None]:
        """Add a listener; ``first`` puts it before the existing ones.

        Returns an unsubscribe function.
        """
        self._listeners.insert(0 if first else len(self._listeners), listener)
        return lambda: self._listeners.remove(listener)

    def filtered(self, data: str) -> str | None:
        """Return the key for the focused component; None if a listener consumed it."""
        for listener in tuple(self._listeners):
            decision = listener(data)
            if decision is None:
                continue
            if decision.consume:
                return None
            if decision.data is not None:
                data = decision.data
        return data
