"""Arguments of a tool call while they arrive, and whole, in all the shapes servers send."""

from __future__ import annotations

import re

import msgspec

from pi.ai.messages import Json
from pi.base.records import UNREADABLE

STRING = r'(?s)"(?:[^"\\]|\\.)*"'
BAD_ESCAPE = r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'
CONTROL = r"[\x00-\x1f]"


def parse_partial(text: str) -> Json:
    """The object that ``text`` has become so far; empty when there is none yet."""
    import jiter  # with the first tool call: every first request would pay for it

    if not text or text.isspace():
        return {}
    try:
        value = jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def parse_arguments(text: str) -> Json | None:
    """The complete arguments, or ``None`` when ``text`` is not one JSON object.

    Nothing at all counts as no arguments, an object that was encoded twice is unpacked, and the
    slips that models make inside strings (raw line ends, ``\\d``) are mended.
    """
    if not text or text.isspace():
        return {}
    value = _decode(text)
    if value is None:
        value = _decode(_mend_strings(text))
    if isinstance(value, str):
        value = _decode(value)
    return value if isinstance(value, dict) else None


def _decode(text: str) -> object:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except UNREADABLE:
        return None


def _mend_strings(text: str) -> str:
    return re.sub(STRING, lambda found: _mend_string(found[0]), text)


def _mend_string(literal: str) -> str:
    escaped = re.sub(CONTROL, lambda found: f"\\u{ord(found[0]):04x}", literal)
    return re.sub(BAD_ESCAPE, r"\\\\", escaped)
