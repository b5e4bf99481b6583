"""Lone surrogates: halves of a pair, which JavaScript allows in a string and UTF-8 does not."""

from __future__ import annotations

import re
from typing import Any

# Group 1 is a run without lone surrogates, other escapes and whole pairs included. It is possessive
# and as long as possible, because every match costs memory of its own. Compiled with its first
# use: hardly any session meets one.
_ESCAPES = (
    rb"((?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})++)"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def replace_surrogate_escapes(text: bytes) -> bytes:
    r"""Return JSON text with ``\ufffd`` for every escape of a lone surrogate."""
    return re.sub(_ESCAPES, lambda match: match[1] or rb"\ufffd", text)


def replace_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD for lone surrogates; the two halves of a pair are joined."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {replace_surrogates(k): replace_surrogates(v) for k, v in value.items()}
        case list() | tuple():
            return [replace_surrogates(item) for item in value]
        case _:
            return value
