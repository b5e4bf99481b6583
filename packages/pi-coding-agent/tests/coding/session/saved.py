"""Sessions on disk for tests: made with the real log, at a time of the test's choice."""

from __future__ import annotations

from pathlib import Path

from pi.base.clock import IdFactory
from pi.coding.session.entries import SessionInfo
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from pi.coding.session.writing import session_directory
from pi.testing import FakeClock
from tests.coding.session.sessions import Counted, Reports, user

HERE, THERE = "/somewhere/here", "/somewhere/there"


def location(
    agent_dir: Path, cwd: str = HERE, *, seconds: int = 0, custom: Path | None = None
) -> SessionLocation:
    """The location of the sessions of ``cwd``; its clock is ``seconds`` after a fixed time."""
    stamps = IdFactory(clock=FakeClock(1_700_000_000_000 + seconds * 1000), random_bytes=Counted())
    return SessionLocation(session_directory(agent_dir, cwd, custom=custom), cwd, Reports(), stamps)


def begin(
    location: SessionLocation, *texts: str, id: str | None = None, name: str = ""
) -> SessionLog:
    """An open session with these user messages."""
    log = new_session(location, id=id)
    for text in texts:
        log.append(user(text))
    if name:
        log.append(SessionInfo(name=name))
    return log


def keep(location: SessionLocation, *texts: str, id: str | None = None, name: str = "") -> Path:
    """The file of such a session, closed."""
    log = begin(location, *texts, id=id, name=name)
    log.close()
    assert log.file is not None
    return log.file
