"""Which rows are history, which are the window, and which may become history now. Pure.

A frame is all rows that the components returned, from the very first. Its rows ``[0, committed)``
are in the terminal's scrollback and final; the window shows the rows from ``top`` on. Rows at or
below the *boundary* may still change and must not become history.
"""

from __future__ import annotations

from pi.base.records import Record


class Ledger(Record):
    """How far history goes, and where the window begins."""

    committed: int = 0
    top: int = 0


def advance(
    ledger: Ledger, *, length: int, height: int, boundary: int, frozen: bool = False
) -> Ledger:
    """The ledger after a frame of ``length`` rows on a window of ``height`` rows.

    ``frozen`` keeps rows from entering history: while an overlay covers them, what scrolls out
    would take the overlay along. They follow when the overlay is gone.
    """
    if 0 < ledger.committed >= length:
        return _shrunk_into_history(length=length, height=height, boundary=boundary)
    top = max(ledger.committed, length - height)
    if frozen:
        return Ledger(committed=ledger.committed, top=top)
    return Ledger(committed=max(ledger.committed, min(boundary, top)), top=top)


def _shrunk_into_history(*, length: int, height: int, boundary: int) -> Ledger:
    """Nothing is left below history: show the end of the frame again, erase nothing above it."""
    top = max(0, length - height)
    return Ledger(committed=min(boundary, top), top=top)
