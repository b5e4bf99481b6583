"""What a provider refused, as a person reads it. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_REFUSAL = re.compile(r"(?<!\S)(\d{3}):? +(\{.*\})\s*\Z", re.S)
_HINTS = {"401": "Is the key right? /login stores another one."}


def readable(error: str) -> str:
    """The words of an error without the JSON around them: ``Slow down (HTTP 429)``.

    Whatever has another form is given back as it is.
    """
    found = _REFUSAL.search(error)
    if found is None:
        return error
    status, body = found.groups()
    try:
        words = _words(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError):  # no JSON, or such that nobody reads it
        return error
    if not words:
        return error
    told = f"{error[: found.start()]}{words} (HTTP {status})"
    return f"{told}\n{_HINTS[status]}" if status in _HINTS else told


def _words(body: Any) -> str:
    """What the body of a refusal says, wherever its maker puts that."""
    match body:
        case {"error": dict() as inner}:
            return _words(inner)
        case {"message": str(words)} | {"error": str(words)} | {"detail": str(words)}:
            return words.strip()
        case _:
            return ""
