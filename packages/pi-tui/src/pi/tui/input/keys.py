"""Key names: parse a key, match it, and get its printable text.

A key name is ``[modifier+]*key`` with the modifiers ``ctrl shift alt super`` in any order, e.g.
``ctrl+shift+x``, ``alt+enter``, ``pageUp``, ``?``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pi.tui.input.key_codes import (
    ALT,
    CTRL,
    HYPER,
    META,
    SHIFT,
    SUPER,
    KeyStroke,
    parse_kitty,
    parse_legacy,
)

_MODIFIERS = {
    "ctrl": CTRL,
    "shift": SHIFT,
    "alt": ALT,
    "super": SUPER,
    "hyper": HYPER,
    "meta": META,
}
"""In the order of the canonical name."""

_BINDABLE = {"ctrl", "shift", "alt", "super"}
_NAMED = (
    "escape enter tab space backspace delete insert clear "
    "home end pageUp pageDown up down left right"
)
_SYMBOLS = "`-=[]\\;',./!@#$%^&*()_+|~{}:<>?\""
_KEYS = {
    **{name.lower(): name for name in _NAMED.split()},
    **{char: char for char in "abcdefghijklmnopqrstuvwxyz0123456789" + _SYMBOLS},
    **{f"f{number}": f"f{number}" for number in range(1, 13)},
    "esc": "escape",
    "return": "enter",
}

_APPLE_FUNCTION_KEYS = range(0xF700, 0xF750)
"""Private-use characters that some macOS programs send as text for keys without a character."""


class Key:
    """Constants and functions for key names: ``Key.ctrl("c")``."""

    escape = "escape"
    enter = "enter"
    tab = "tab"
    space = "space"
    backspace = "backspace"
    delete = "delete"
    insert = "insert"
    clear = "clear"
    home = "home"
    end = "end"
    page_up = "pageUp"
    page_down = "pageDown"
    up = "up"
    down = "down"
    left = "left"
    right = "right"

    @staticmethod
    def ctrl(key: str) -> str:
        """Return ``key`` with Ctrl. Calls can be nested: ``Key.ctrl(Key.shift("p"))``."""
        return f"ctrl+{key}"

    @staticmethod
    def shift(key: str) -> str:
        """Return ``key`` with Shift."""
        return f"shift+{key}"

    @staticmethod
    def alt(key: str) -> str:
        """Return ``key`` with Alt."""
        return f"alt+{key}"

    @staticmethod
    def super(key: str) -> str:
        """Return ``key`` with the Windows or Command key."""
        return f"super+{key}"


@lru_cache(maxsize=1024)
def canonical(name: str) -> str | None:
    """Return the canonical spelling of a key name; None for an unknown key."""
    # No regular expression: every start parses 130 keys. The last character may be the key `+`.
    before, plus, last = name.lower()[:-1].rpartition("+")
    key = _KEYS.get(last + name[-1:].lower())
    modifiers = set(before.split("+")) if plus else set()
    if key is None or not modifiers <= _BINDABLE:
        return None
    return _spell(key, sum([_MODIFIERS[modifier] for modifier in modifiers]))


@lru_cache(maxsize=1024)
def parse(data: str) -> KeyStroke | None:
    """Decode a key sequence; None if it is not exactly one key."""
    if not data:
        return None
    if data.startswith("\x1b["):
        return parse_kitty(data) or parse_legacy(data)
    return parse_legacy(data)


@lru_cache(maxsize=1024)
def key_names(data: str) -> tuple[str, ...]:
    """Return all names of a key sequence, best first. A release has the names of its press."""
    stroke = parse(data)
    if stroke is None:
        return ()
    readings = ((stroke.key, stroke.modifiers), *stroke.also)
    return tuple(dict.fromkeys(_spell(key, modifiers) for key, modifiers in readings))


def parse_key(data: str) -> str | None:
    """Return the name of the key that sent ``data``; None if it is not exactly one key."""
    names = key_names(data)
    return names[0] if names else None


def matches_key(data: str, name: str) -> bool:
    """Return whether ``data`` is the key ``name`` in any encoding."""
    return canonical(name) in key_names(data)


def is_key_release(data: str) -> bool:
    """Return whether ``data`` is a key release. Text and pastes never are."""
    return _phase(data) == "release"


def is_key_repeat(data: str) -> bool:
    """Return whether ``data`` is the repeat of a held key."""
    return _phase(data) == "repeat"


def _phase(data: str) -> str:
    if not data.startswith("\x1b[") or len(data) > 64:
        return "press"
    stroke = parse(data)
    return stroke.phase if stroke else "press"


def printable_text(data: str) -> str:
    """Return the text that ``data`` types, or an empty string."""
    first = data[:1]
    if first < " " or "\x7f" <= first < "\xa0":
        stroke = parse(data) if first == "\x1b" else None
        return stroke.text if stroke else ""
    return "" if ord(first) in _APPLE_FUNCTION_KEYS else data


def _spell(key: str, modifiers: int) -> str:
    if not modifiers:
        return key
    return "+".join([*(name for name, bit in _MODIFIERS.items() if modifiers & bit), key])


_PICKED_KEYS = rb"(?s)\x1b\[[0-9:;]*[u~]|."
"""The forms of a key with Ctrl: a sequence, or one byte."""


def find_key(data: bytes, name: str) -> tuple[bytes, int]:
    """Remove the key ``name`` from ``data``. Returns the rest and the number of presses."""
    rest, presses = b"", 0
    for key in re.findall(_PICKED_KEYS, data):
        text = key.decode("latin-1")
        if not matches_key(text, name):
            rest += key
        elif not is_key_release(text):
            presses += 1
    return rest, presses
