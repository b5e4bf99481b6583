"""One stroke of a key, whichever way the terminal spelt it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record

SHIFT, ALT, CTRL, SUPER, HYPER, META = (1 << bit for bit in range(6))
"""Modifiers, as bits of the number that terminals send (less one)."""

LOCKS = 64 | 128
"""Caps Lock and Num Lock: they say how the keyboard is, not what was meant."""

Phase: TypeAlias = Literal["press", "repeat", "release"]

Reading: TypeAlias = tuple[str, int]
"""A key and its modifiers."""


class Stroke(Record, kw_only=False):
    """What a key sequence means."""

    key: str
    """Its name as in a key binding, or the character on it."""
    modifiers: int = 0
    text: str = ""
    """What it types, if anything."""
    phase: Phase = "press"
    also: tuple[Reading, ...] = ()
    """Other ways to name the same stroke: a terminal or a layout does not tell them apart."""


def modifiers_of(number: str) -> int:
    """The modifiers in a parameter of a sequence; an absent one means none."""
    return (int(number) - 1) & ~LOCKS if number and number != "0" else 0
