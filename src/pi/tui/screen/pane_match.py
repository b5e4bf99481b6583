"""Finds our rows again in what a pane says it has. Pure.

After a resize only the pane knows which rows it has moved into its history, and what became of a
frame that reached it in the middle of the change. Where it can be asked, it is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from pi.base.records import Record
from pi.tui.screen.history import Ledger
from pi.tui.screen.reflow import Place, UnwrappedText, tail

_CONTEXTS = (600, 60, 20)
"""Letters by which a place is known again: as many as there are, else fewer."""
_STEPS_BACK = (0, 4, 10, 25, 60)
"""Rows before the end of history where it is looked for. The last ones may be out of date."""
_HIGHEST = 60
"""Rows of a screen that frames may have hit that went astray; or it is as high as it is now."""


class PaneText(Record):
    """What a pane has: the last rows of its history, then those of its screen."""

    rows: Sequence[str]
    width: int
    height: int

    @property
    def above(self) -> int:
        """How many of the rows are history."""
        return len(self.rows) - self.height


class HistoryMatch(Record, kw_only=False):
    """Where history ends."""

    place: Place
    """As a place in our rows."""
    top: int
    """Rows of the screen that belong to history and stay as they are."""


def find_end_of_history(
    tape: PaneText, rows: Sequence[str], ledger: Ledger, *, sure: int | None = None
) -> HistoryMatch | None:
    """Which of ``rows`` the pane has in its history; None if they cannot be found there.

    ``ledger`` says how many there should be. ``sure`` says how many had arrived before frames went
    astray, if some did. There are more if a resize has moved some, fewer if they never arrived or
    were overwritten. Those that it has brought back onto the screen are left there.
    """
    ours, theirs = UnwrappedText(rows), UnwrappedText(tape.rows)
    edge, expected = theirs.place(tape.above), ours.place(ledger.committed)
    if sure is None and ledger.top > ledger.committed:
        window = _window_row(ours, ledger.top, theirs, near=edge.letters)
        return None if window is None else HistoryMatch(expected, max(0, window - tape.above))
    if sure is None:
        known = _known_again(ours, theirs, ledger.committed, near=edge.letters)
        if known is None:
            return None
    else:
        highest = max(_HIGHEST, tape.height)
        known = _known_above(ours, theirs, sure, highest=highest)
        if known is None:  # not even what stood above the screen: say it all again
            return HistoryMatch(Place(ours.starts[max(0, sure - highest)]), 0)
    start, at = known
    same = _same(ours, theirs, start, shift=at - start)
    end = _end(ours, same, reached=edge.letters - at + start, expected=expected.letters)
    blanks = expected.blanks if end == expected.letters else 0
    return _found(tape, theirs, Place(end, blanks), shift=at - start)


def _end(ours: UnwrappedText, same: int, *, reached: int, expected: int) -> int:
    """How many letters are history, if the pane has ``same`` and ``reached`` of them above."""
    whole = max(ours.row_end(reached), expected)  # a row that is wrapped now stays in one piece
    if same >= whole:
        return whole
    if same >= reached:
        return max(reached, min(same, expected))
    return ours.row_start(same)  # what follows is something else, and may begin alike


def _found(tape: PaneText, theirs: UnwrappedText, end: Place, *, shift: int) -> HistoryMatch:
    """History ends at ``end`` of ours, which is ``shift`` letters further in the pane."""
    edge = theirs.place(tape.above)
    there = end.letters + shift
    if there < edge.letters:  # what follows in history is something else
        return HistoryMatch(end, 0)
    blanks = end.blanks if there > edge.letters else max(end.blanks, edge.blanks)
    row, damaged = theirs.row(Place(there, blanks))
    if damaged and row >= tape.above:
        return HistoryMatch(Place(end.letters - damaged), row - tape.above)
    last = tail(tape.rows[tape.above - 1]) if tape.above else ""
    return HistoryMatch(Place(end.letters, blanks, tail=last), max(0, row - tape.above))


def _window_row(ours: UnwrappedText, top: int, theirs: UnwrappedText, *, near: int) -> int | None:
    """Where in ``theirs`` a window begins that does not follow history."""
    start = ours.place(top).letters
    at = _followed_alike(ours, start, theirs, near=near)
    if at is None:
        return None
    blanks = ours.first_row_with_letters(start) - top
    return theirs.first_row_with_letters(at) - blanks


def _known_again(
    ours: UnwrappedText, theirs: UnwrappedText, committed: int, *, near: int
) -> tuple[int, int] | None:
    """The end of history, or a place before it, by letters before it in ours and in theirs.

    What follows history was written as it is now. What stands before its end may be wrapped as it
    was long ago, and rows that are out of date may have come in between.
    """
    start = ours.starts[committed]
    at = _followed_alike(ours, start, theirs, near=near)
    if at is not None:
        return start, at
    for count, back in product(_CONTEXTS, _STEPS_BACK):
        start = ours.starts[max(0, committed - back)]
        at = theirs.find(ours.around(start, count)[0], "", near=near)
        if at is not None:
            return start, at
    return None


def _known_above(
    ours: UnwrappedText, theirs: UnwrappedText, sure: int, *, highest: int
) -> tuple[int, int] | None:
    """Like that for a place above the screen: the one from which both say the same the furthest.

    A frame that went astray may have hit rows of history that were back on the screen. Only what
    stands above them tells how far it is whole.
    """
    best: tuple[int, int] | None = None
    furthest = -1
    for row in range(max(0, sure - highest), max(0, sure - 2 * highest) - 1, -1):
        start = ours.starts[row]
        before, after = ours.around(start, _CONTEXTS[1])
        at = theirs.find(before, "" if before else after, near=len(theirs.text))
        if at is None:
            continue
        reached = _same(ours, theirs, start, shift=at - start)
        if reached > furthest:
            best, furthest = (start, at), reached
        if reached >= ours.starts[sure]:
            break
    return best


def _followed_alike(
    ours: UnwrappedText, start: int, theirs: UnwrappedText, *, near: int
) -> int | None:
    """The place in ``theirs`` that is followed by the same letters as ``start`` in ours.

    Lines repeat themselves: of several places, the one that is followed alike the furthest, then
    the one before which the same stands, then the nearest.
    """

    def likeness(at: int) -> tuple[int, int, int]:
        before, after = ours.around(start, _CONTEXTS[0])
        there_before, there_after = theirs.around(at, _CONTEXTS[0])
        return (
            _common(after, there_after),
            _common(before[::-1], there_before[::-1]),
            -abs(at - near),
        )

    for count in _CONTEXTS:
        if places := theirs.places(ours.around(start, count)[1]):
            return max(places, key=likeness)
    return None


def _same(ours: UnwrappedText, theirs: UnwrappedText, start: int, *, shift: int) -> int:
    """How far both say the same from ``start`` on, be it in another order as tables do."""
    their_ends = set(theirs.starts)
    while True:
        start += _common(ours.text[start:], theirs.text[start + shift :])
        row = ours.first_row_with_letters(start)
        begin = ours.starts[row]
        for end in ours.starts[row + 1 : row + _HIGHEST]:
            if end <= start or end + shift not in their_ends:
                continue
            if ours.weight(begin, end) == theirs.weight(begin + shift, end + shift):
                start = end
                break
        else:
            return start


def _common(ours: str, theirs: str) -> int:
    """How many first letters are the same."""
    length = min(len(ours), len(theirs))
    if ours[:length] == theirs[:length]:
        return length
    return next(at for at in range(length) if ours[at] != theirs[at])
