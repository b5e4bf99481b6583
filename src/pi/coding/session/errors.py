"""Why a session cannot be opened, found or forked.

SessionProblem          a session cannot be used as asked
├── NotASession         the file holds something else; it is left as it is
├── SessionNotFound     there is no such file
├── NoMatchingSession   no session has that id
├── SessionInUse        another process, or this one, has it open
├── DirectoryGone       the folder it belongs to does not exist any more
├── EntryNotFound       the session has no entry of that id
└── CannotFork          a session cannot be forked from that entry
"""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError


class SessionProblem(PiError):
    """A session cannot be used as asked."""


class NotASession(SessionProblem):
    """A file that is not empty and does not begin with the header of a session."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Session file is not a valid pi session: {path}")


class SessionNotFound(SessionProblem):
    """A session that must exist does not."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"File not found: {path}", hint="Give the path of a session file.")


class NoMatchingSession(SessionProblem):
    """No session has that id, or one that begins so."""

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(f"No session found matching '{text}'", hint=hint)


class SessionInUse(SessionProblem):
    """Somebody writes to the session; ``pid`` is the process, if it is known."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(
            f"The session {path} is open in {who}.", hint="Close it there, or open a fork of it."
        )
        self.path = path
        self.pid = pid


class DirectoryGone(SessionProblem):
    """A session's working directory no longer exists; a person may choose the current one."""

    def __init__(self, stored: str, session: Path | None, current: str) -> None:
        super().__init__(
            f"Stored session working directory does not exist: {stored}\n"
            f"Session file: {session or '(in memory)'}\n"
            f"Current working directory: {current}"
        )
        self.stored = stored


class EntryNotFound(SessionProblem):
    """The session has no entry of that id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"Entry not found: {id}")


class CannotFork(SessionProblem):
    """Only what a person said can be the beginning of another session."""

    def __init__(self) -> None:
        super().__init__("Invalid entry ID for forking")
