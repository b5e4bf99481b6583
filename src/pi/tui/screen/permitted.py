"""The last check of a row before it is written: which sequences in it a terminal may obey. Pure.

Text from outside is sanitised where it enters a component. Where that was forgotten, a file name
could move the cursor, set the window's title or fill the clipboard; so every row is held against
the forms that this package itself puts into rows, and everything else is removed.
"""

from __future__ import annotations

import re
from functools import cache

from pi.tui.text.ansi import LINKED_SCHEMES, SEQUENCE

_BIDI = r"\u202a-\u202e\u2066-\u2069"
"""Overrides and isolates, which let text look like something else."""
_STYLE = r"\x1b\[[0-9;:]*+m"
_LINK = rf"\x1b\]8;[A-Za-z0-9_=:.-]*+;(?:(?i:{'|'.join(LINKED_SCHEMES)})[!-~]*+)?+(?:\x07|\x1b\\)"
_STYLED = re.compile(rf"(?:[^\x00-\x1f\x7f-\x9f{_BIDI}]++|{_STYLE}|{_LINK})*+")
"""What nearly every row is: text, styles (SGR) and links (OSC 8)."""

_BASE64 = r"[A-Za-z0-9+/=]*"
# What pi.tui.images writes into rows. Other commands of the same protocols read and delete
# files (Kitty's t=f and t=t) or store downloads (iTerm2 without inline=1).
_KITTY = r"\x1b_Ga=p,q=2,C=1,i=\d+,p=1,c=\d+,r=\d+\x1b\\"
_ITERM = (
    r"\x1b\]1337;File=inline=1(?:;(?:size|width|height|preserveAspectRatio|name)=[A-Za-z0-9+/=%]*)*"
    rf":{_BASE64}\x07"
)
_SIXEL = r"\x1bP0;1;0q[!-~]*\x1b\\"
_DRAWN_FROM_BELOW = rf"\x1b7(?:\x1b\[\d+A)?(?:{_ITERM}|{_SIXEL})\x1b8"


def permitted(row: str) -> str:
    """The row without controls, and without sequences that are no style, link or picture of ours.

    What is removed took no column, so the row is as wide as before.
    """
    if row.isprintable() or _STYLED.fullmatch(row):
        return row
    return _ours_or_any().sub(lambda found: found["ours"] or "", row)


@cache
def _ours_or_any() -> re.Pattern[str]:
    """Compiled for the first row that is more than styled text."""
    ours = "|".join((r"[\t\n]", _STYLE, _LINK, _KITTY, _DRAWN_FROM_BELOW))
    return re.compile(f"(?P<ours>{ours})|{SEQUENCE.pattern}|[{_BIDI}]", re.VERBOSE)
