"""Finding one key in what a terminal sends, without taking anything else from it. Pure."""

from __future__ import annotations

import re

from pi.tui.input.keys import is_key_release, matches_key

_KEYS = rb"(?s)\x1b\[[0-9:;]*[u~]|."
"""The forms that a key with Ctrl can have: a sequence, or one byte."""


def pick_key(data: bytes, name: str) -> tuple[bytes, int]:
    """``data`` without the key called ``name``, and how often that was pressed."""
    rest, presses = b"", 0
    for key in re.findall(_KEYS, data):
        text = key.decode("latin-1")
        if not matches_key(text, name):
            rest += key
        elif not is_key_release(text):
            presses += 1
    return rest, presses
