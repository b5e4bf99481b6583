"""What came of installing or updating a package."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record

Change: TypeAlias = Literal["fetched", "current", "pinned", "kept", "in place"]
"""Brought here; already here; not to be moved; newer here than there; used where it is."""


class Outcome(Record):
    """One package, before and after."""

    change: Change
    before: str = ""
    """The version that was there; empty if there was none."""
    after: str = ""


def settled(
    installed: str, wanted: str, *, pinned: bool, newer: bool, force: bool
) -> Outcome | None:
    """Why nothing has to be fetched; ``None`` if something has to.

    ``newer`` says whether ``wanted`` is above what is installed. A version that the person names
    is brought even if it is a lower one; what merely is the latest never takes us back. ``force``
    fetches again what is here.
    """
    if not installed or (installed == wanted and force):
        return None
    if installed == wanted:
        return Outcome(change="current", before=installed, after=installed)
    if not pinned and not newer:
        return Outcome(change="kept", before=installed, after=installed)
    return None
