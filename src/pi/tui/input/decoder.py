"""The stream decoder: bytes from a terminal, cut anywhere, become keys, pastes, mouse and replies.

A key is the string that the terminal sent for it (``pi.tui.input.keys`` names it), one per
character for plain text; everything else has a type. Time comes in as an argument: after ``feed``,
ask for ``deadline`` and call ``expire`` when it has passed and no more bytes wait to be read.
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
    """Text that was pasted."""

    text: str

    @property
    def data(self) -> str:
        """The paste as a component gets it: bracketed, in one piece."""
        return f"{PASTE_START}{self.text}{PASTE_END}"


InputEvent: TypeAlias = str | Paste | MouseReport | Reply

_SEQUENCE = r"""(?x)\x1b (?:
        \[ (?: \[[A-E] | M[^\x1b]{3} | [0-9]{1,2}\$ | (?![\[M]) [0-?]{0,256} [ -/]{0,8} [@-~] )
      | O [0-9]? [A-IMPQRSXa-dj-y]
      | \x1b (?: \[ (?: [A-FHa-d] | [0-9]{1,2}[~$^@] ) | O [A-FHPQRSa-d] )
      | [\]P_^X] [^\x07\x18\x1a\x1b]{0,65536} (?: \x07 | \x1b\\ )
    )"""
"""A complete sequence: CSI (with the Linux console's and X10's oddities), SS3, Alt by a second ESC,
or a string (OSC, DCS, APC, PM, SOS)."""

_BEGINNING = r"""(?x)\x1b (?:
        \[ (?: \[ | M[^\x1b]{0,2} | (?![\[M]) [0-?]{0,256} [ -/]{0,8} )
      | O [0-9]?
      | \x1b (?: \[ [0-9]{0,2} | O )?
      | [\]P_^X] [^\x07\x18\x1a\x1b]{0,65536} \x1b?
    )? \Z"""
"""What may yet become a sequence."""

_TORN = r"\x1b(?:\[(?:\[|M[^\x1b]{0,2}|[0-?]*[ -/]*)|O[0-9]?|[\]P_^X][^\x07\x18\x1a\x1b]*|[^\x1b])"
"""As much of a sequence as there is before what cannot belong to it."""

_ORPHAN = r"\[[<?][0-9;]|\]1[0-2];"
"""The rest of a mouse report or a reply whose ESC came much earlier; nobody types that at once."""

_RE_ENCODED = r"\x1b\[(?:\d+;\d+u|27;\d+;\d+~)"
_LONG_LINES = 80
"""Characters that nobody types, with an Enter between, before the next read."""
_CTRL_BACKSPACE = "\x1b[127;5u"


class Decoder:
    """Cuts a terminal's input into events, whatever the cuts of the stream.

    ``ctrl_backspace`` says that the terminal sends 0x08 for Ctrl+Backspace (Windows Terminal does).
    ``bursts`` takes a single read of several lines for a paste that lacks its brackets: nobody
    types that fast, and each line would be submitted by itself.
    """

    def __init__(
        self, timing: Timing | None = None, *, ctrl_backspace: bool = False, bursts: bool = True
    ) -> None:
        self._timing = timing or Timing()
        self._ctrl_backspace = ctrl_backspace
        self._bursts = bursts
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """The beginning of a sequence."""
        self._paste: list[str] | None = None
        """The pieces of a paste that goes on."""
        self._arrived = 0.0
        self._escaped = False
        """Whether the last thing to expire was a lone ESC."""

    def feed(self, data: bytes, now: float) -> list[InputEvent]:
        """What has become complete with these bytes, in order."""
        text = self._utf8.decode(data)
        if not text:
            return []
        self._arrived = now
        if not self._held and self._paste is None:
            if self._escaped and re.match(_ORPHAN, text):
                text = "\x1b" + text
            elif text.isascii() and text.isprintable():
                self._escaped = False
                return list(text)
            elif self._bursts and _is_burst(text):
                return [Paste(text=text)]
        self._escaped = False
        events: list[InputEvent] = []
        rest, self._held = self._held + text, ""
        while rest:
            rest = (
                self._paste_goes_on(rest, events)
                if self._paste is not None
                else self._keys(rest, events)
            )
        return events

    @property
    def deadline(self) -> float | None:
        """When ``expire`` has something to do if nothing more arrives; never, usually."""
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
        """What is taken as it is because the rest did not come in time."""
        if self.deadline is None or now < self.deadline:
            return []
        if self._paste is not None:
            pasted = [*self._paste, self._held]
            self._paste, self._held = None, ""
            return [_pasted("".join(pasted))]
        held, self._held = self._held, ""
        escapes = len(held) - len(held.lstrip("\x1b"))
        rest = held[escapes:]
        self._escaped = not rest
        if not rest:
            return ["\x1b"] * escapes
        events: list[InputEvent] = ["\x1b"] * (escapes - 1)
        if rest in _INTRODUCERS:
            events.append("\x1b" + rest)
        return events

    def _keys(self, text: str, events: list[InputEvent]) -> str:
        """Take keys from the front; returns what follows the start of a paste, or nothing."""
        at = 0
        while at < len(text):
            escape = text.find("\x1b", at)
            if escape != at:
                events.extend(self._plain(text[at : escape if escape > 0 else None]))
                if escape < 0:
                    break
            if sequence := _compiled(_SEQUENCE).match(text, escape):
                at = sequence.end()
                if sequence[0] == PASTE_START:
                    self._paste = []
                    return text[at:]
                if event := _event(sequence[0]):
                    events.append(event)
            elif _compiled(_BEGINNING).match(text, escape):
                self._held = text[escape:]
                break
            else:
                at = _after_no_sequence(text, escape, events)
        return ""

    def _plain(self, text: str) -> list[str]:
        keys = list(text)
        if self._ctrl_backspace and "\x08" in text:
            keys = [_CTRL_BACKSPACE if key == "\x08" else key for key in keys]
        return keys

    def _paste_goes_on(self, text: str, events: list[InputEvent]) -> str:
        """Add to the paste; returns what follows its end, or nothing."""
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
"""What begins a sequence after ESC, and is a key with Alt if nothing follows."""


def _event(sequence: str) -> InputEvent | None:
    if sequence == PASTE_END:  # its start was lost, or the paste was given up
        return None
    if sequence.startswith("\x1b[<") and (report := parse_mouse(sequence)):
        return report
    return parse_reply(sequence) or sequence


def _after_no_sequence(text: str, escape: int, events: list[InputEvent]) -> int:
    """Deal with an ESC that begins no sequence; returns where to go on.

    Before a character it is Alt; before another ESC it is the Escape key; and a sequence that is
    broken off by something impossible is dropped, so that the key that did it is not lost.
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
    """Compiled for the first key: the first frame comes before that."""
    return re.compile(pattern)


def _is_burst(text: str) -> bool:
    """Whether a read can only be pasted: several lines of text at once, or one and a long one."""
    if "\x1b" in text or not ("\r" in text or "\n" in text):
        return False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    plain = all(line.replace("\t", "").isprintable() for line in lines)
    return plain and (len(lines) > 2 or (len(lines) == 2 and len(text) >= _LONG_LINES))


def _pasted(text: str) -> Paste:
    """A paste whose control characters are themselves again: tmux sends them as key sequences."""
    if "\x1b[" in text:
        text = re.sub(_RE_ENCODED, lambda key: control_character(key[0]) or key[0], text)
    return Paste(text=text)


def _overlap(text: str, marker: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``marker``."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0


# From bytes to events, and who sees a key before the focused component does.


class InputReader:
    """Decodes what a terminal sends and hands on every event, in order.

    Wakes the decoder when the rest of a sequence is overdue.
    """

    def __init__(
        self, decoder: Decoder, timers: Timers, handle: Callable[[InputEvent], None]
    ) -> None:
        self._decoder = decoder
        self._timers = timers
        self._handle = handle
        self._overdue: Timer | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrived."""
        self._deliver(self._decoder.feed(data, self._timers.time()))

    def stop(self) -> None:
        """Wait for nothing any more."""
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
    """What a listener makes of a key before the focused component gets it."""

    consume: bool = False
    """Nobody else gets it."""
    data: str | None = None
    """Others get this instead."""


InputListener: TypeAlias = Callable[[str], InputDecision | None]


class KeyListeners:
    """Those that see every key first, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[InputListener] = []

    def add(self, listener: InputListener, *, first: bool = False) -> Callable[[], None]:
        """Let a listener see every key, also before those that came earlier.

        Returns what ends that.
        """
        self._listeners.insert(0 if first else len(self._listeners), listener)
        return lambda: self._listeners.remove(listener)

    def filtered(self, data: str) -> str | None:
        """What the listeners leave for the focused component; None if one of them took it."""
        for listener in tuple(self._listeners):
            decision = listener(data)
            if decision is None:
                continue
            if decision.consume:
                return None
            if decision.data is not None:
                data = decision.data
        return data
