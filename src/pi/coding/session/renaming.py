"""Giving a name to a session that is not open."""

from __future__ import annotations

from pathlib import Path

from pi.base.files import FileProblem
from pi.coding.session.entries import SessionInfo
from pi.coding.session.errors import SessionNotFound
from pi.coding.session.opening import Shelf, open_session
from pi.coding.session.stamps import Stamps


def rename_session(path: Path, name: str, stamps: Stamps) -> None:
    """Append the name to the file; a blank one takes the name away.

    ``SessionInUse`` if somebody has the session open: only they may write to it.
    """
    if not path.exists():
        raise SessionNotFound(path)
    log = open_session(path.absolute(), Shelf(path.parent, "", lambda line: None, stamps))
    try:
        log.append(SessionInfo(name=name))
    finally:
        log.close()
    if log.unsaved_reason is not None:
        raise FileProblem(f"The session was not renamed: {log.unsaved_reason}.")
