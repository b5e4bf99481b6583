"""Parses the arguments of tool calls, partial and complete. Pure."""

from __future__ import annotations

import re

import msgspec

from pi.ai.messages import Json
from pi.base.records import UNREADABLE
from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

MAX_VALUES = 1_000_000
"""Limit of lists, objects and their members in the arguments of one call.

``[[],[],…`` takes twenty times as much memory as its text; long strings do not.
"""

LARGEST_MENDED = 4 * 1024 * 1024
"""Characters of invalid arguments that are repaired: each error costs memory of its own."""

# Possessive: a plain group keeps a state per character, gigabytes for a long string. An
# unterminated string is one match too; otherwise every quote in it would be tried up to the end.
STRING = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'

BAD_ESCAPE = r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'

CONTROL = r"[\x00-\x1f]"


def parse_partial(text: str) -> Json:
    """Return the object that ``text`` contains so far; empty if there is none yet."""
    import jiter  # lazy: every first request would pay for it

    if not text or text.isspace():
        return {}
    data = text.encode("utf-8", "replace")
    if _marks(data) > MAX_VALUES:  # strings may contain them too; the preview can wait
        return {}
    try:
        try:
            value = jiter.from_json(data, partial_mode="trailing-strings")
        except ValueError:
            mended = replace_surrogate_escapes(data)
            value = jiter.from_json(mended, partial_mode="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def parse_arguments(text: str) -> Json | None:
    """Return the complete arguments, or ``None`` if ``text`` is not one JSON object.

    Empty text means no arguments, an object that was encoded twice is unpacked, and common errors
    of models inside strings (raw line ends, ``\\d``, lone surrogates) are repaired. Arguments with
    more than ``MAX_VALUES`` values are refused; ``refusal_reason`` returns the reason.
    """
    if not text or text.isspace():
        return {}
    value = _decode(text)
    if value is None and len(text) <= LARGEST_MENDED:
        value = _decode(_mend_strings(text), mend_escapes=True)
    if isinstance(value, str):
        value = _decode(value, mend_escapes=True)
    return value if isinstance(value, dict) else None


def refusal_reason(text: str) -> str:
    """Return the limit that refused arguments exceed; empty if they are not JSON."""
    data = text.encode("utf-8", "replace")
    if _has_too_many_values(data):
        return f"they hold more than {MAX_VALUES:,} values"
    try:
        msgspec.json.decode(data)
    except RecursionError:
        return "they are nested too deeply"
    except UNREADABLE:
        pass
    return ""


def _decode(text: str, *, mend_escapes: bool = False) -> object:
    data = _utf8(text)
    if mend_escapes:
        data = replace_surrogate_escapes(data)
    if _has_too_many_values(data):
        return None
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        return None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return str(replace_surrogates(text)).encode()


def _has_too_many_values(data: bytes) -> bool:
    if _marks(data) <= MAX_VALUES:
        return False
    # A long text may hold as many commas: those in top-level strings do not count.
    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return not data.lstrip().startswith(b'"')
    raw = (bytes(member) for member in members.values())
    return sum(_marks(value) for value in raw if not value.startswith(b'"')) > MAX_VALUES


def _marks(data: bytes) -> int:
    """Return an upper bound of the number of values."""
    if len(data) <= MAX_VALUES:
        return len(data)
    return sum(map(data.count, (b",", b"[", b"{")))


def _mend_strings(text: str) -> str:
    return re.sub(STRING, lambda match: _mend_string(match[0]), text)


def _mend_string(literal: str) -> str:
    escaped = re.sub(CONTROL, lambda match: f"\\u{ord(match[0]):04x}", literal)
    return re.sub(BAD_ESCAPE, r"\\\\", escaped)
