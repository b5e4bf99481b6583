"""Session errors.

SessionProblem          a session cannot be used as requested
├── NotASession         the file is not a session; it is not changed
├── SessionNotFound     the file does not exist
├── NoMatchingSession   no session has that id
├── SessionInUse        another process, or this one, has it open
├── DirectoryGone       its working directory no longer exists
├── EntryNotFound       the session has no entry with that id
└── CannotFork          a session cannot be forked from that entry
"""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError


class SessionProblem(PiError):
    """A session cannot be used as requested."""


class NotASession(SessionProblem):
    """A file that is not empty and does not begin with a session header."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Session file is not a valid pi session: {path}")


class SessionNotFound(SessionProblem):
    """A required session does not exist."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"File not found: {path}", hint="Give the path of a session file.")


class NoMatchingSession(SessionProblem):
    """No session has that id or a matching prefix."""

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(f"No session found matching '{text}'", hint=hint)


class SessionInUse(SessionProblem):
    """The session is open; ``pid`` is the process, if known."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(
            f"The session {path} is open in {who}.", hint="Close it there, or open a fork of it."
        )
        self.path = path
        self.pid = pid


class DirectoryGone(SessionProblem):
    """The working directory of a session no longer exists; the user may choose the current one."""

    def __init__(self, stored: str, session: Path | None, current: str) -> None:
        super().__init__(
            f"Stored session working directory does not exist: {stored}\n"
            f"Session file: {session or '(in memory)'}\n"
            f"Current working directory: {current}"
        )
        self.stored = stored
        self.path = session


class EntryNotFound(SessionProblem):
    """The session has no entry with that id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"Entry not found: {id}")


class CannotFork(SessionProblem):
    """Only a user message can start a fork."""

    def __init__(self) -> None:
        super().__init__("Invalid entry ID for forking")
