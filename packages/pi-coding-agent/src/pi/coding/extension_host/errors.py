"""Errors of extensions, and checks of the values that they pass to pi."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pi.base.errors import PiError
from pi.base.records import UNSET, Record, UnsetType


class ExtensionFailed(Record, tag="extension_error"):
    """A handler of an extension failed; everything else continues."""

    extension_path: str
    event: str
    error: str
    hint: str | UnsetType = UNSET
    """What to do next; empty if unknown, unset if the error is a bug."""

    def explain(self) -> str:
        """The error and its hint as sentences, for the user."""
        return PiError(self.error, hint=self.hint or "").explain()


class ExtensionError(PiError):
    """Invalid use of the extension API, or an extension that could not be loaded."""


class StaleSession(ExtensionError):
    """A handle of a session that was replaced."""

    def __init__(self) -> None:
        super().__init__(
            "This handle belongs to a session that has ended.",
            hint="extension(pi) was called again for the new session; use its handles.",
        )


class CommandExit(Exception):
    """Ends the command and the program, with an exit code; raised by ``ctx.exit``."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


def error_text(error: BaseException) -> str:
    """An error in one line."""
    text = error.message if isinstance(error, PiError) else _text(error)
    return text or type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # __str__ may be code of the extension
        return ""


def check_value(what: str, value: Any, valid: Sequence[str]) -> Any:
    """Return ``value``. Raises ``ExtensionError`` with a suggestion if it is not valid."""
    if value in valid:
        return value
    raise ExtensionError(f"{value!r} is not {what}.", hint=valid_values(value, valid))


def check_fields(what: str, fields: Iterable[str], valid: Sequence[str]) -> None:
    """Raise ``ExtensionError`` with a suggestion for a field that does not exist."""
    for field in fields:
        check_value(f"a field of {what}", field, valid)


def check_options(what: str, names: Iterable[str], options: type) -> None:
    """Raise ``ExtensionError`` with a suggestion for a name that is not in a ``TypedDict``."""
    for name in names:
        check_value(f"an option of {what}", name, tuple(options.__annotations__))


def valid_values(value: Any, valid: Sequence[str], kind: str = "values") -> str:
    """A hint that suggests a similar value, if there is one, and lists the valid ones."""
    from pi.base.fuzzy import did_you_mean  # deferred: only for error messages

    suggestion = did_you_mean(str(value), valid) if value else ""
    return f"{suggestion} Valid {kind}: {', '.join(valid)}.".lstrip()
