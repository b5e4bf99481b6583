"""What went wrong in an extension, for people, clients and the log."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.base.records import Record


class ExtensionFailed(Record, tag="extension_error"):
    """A handler of an extension failed; the rest goes on."""

    extension_path: str
    event: str
    error: str


class ExtensionError(PiError):
    """An extension asked for something that cannot be, or could not be loaded."""


class StaleSession(ExtensionError):
    """A handle of a session that another one has replaced."""

    def __init__(self) -> None:
        super().__init__(
            "This handle belongs to a session that is over.",
            hint="extension(pi) has been called again for the session that took its place.",
        )


class HandlerTimeout(Exception):
    """A handler took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"It took longer than {seconds:g} seconds and was cancelled.")


class HandlerEnded(Exception):
    """A handler did not return by itself."""

    def __init__(self) -> None:
        super().__init__("It did not return, and was ended with Ctrl+C.")


def words(problem: BaseException) -> str:
    """A failure in one line."""
    text = problem.message if isinstance(problem, PiError) else str(problem)
    return text or type(problem).__name__
