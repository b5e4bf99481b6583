"""Names that look like the wanted one: what a person reads as the same may be other bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path

QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'}
DASHES = dict.fromkeys("‐‑‒–—―−", "-")
SPACES = dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000\t", " ") | {
    chr(code): " " for code in range(0x2000, 0x200B)
}
LOOKALIKES = str.maketrans(QUOTES | DASHES | SPACES)
"""Characters that keyboards and models write in place of each other."""


def look(name: str) -> str:
    """What ``name`` looks like: equal for names that differ in Unicode form, quotes or spaces.

    macOS writes names decomposed, and puts a narrow space between the time and AM or PM of a
    screenshot and a curly quote into its French name; nobody types any of these.
    """
    import unicodedata  # seldom needed, because most names are found as they are

    return re.sub(" +", " ", unicodedata.normalize("NFC", name).translate(LOOKALIKES))


def existing(path: Path) -> Path:
    """``path``, or the only one that looks the same and exists."""
    if os.path.lexists(path):
        return path
    found = Path(path.anchor)
    for part in path.relative_to(path.anchor).parts:
        step = found / part
        if not os.path.lexists(step):
            alike = _alike(found, part)
            if alike is None:
                return path
            step = found / alike
        found = step
    return found


def _alike(folder: Path, name: str) -> str | None:
    wanted = look(name)
    try:
        alike = [each.name for each in folder.iterdir() if look(each.name) == wanted]
    except OSError:
        return None
    return alike[0] if len(alike) == 1 else None
