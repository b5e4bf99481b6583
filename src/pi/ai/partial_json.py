"""Arguments of a tool call while they arrive, and whole, in all the shapes servers send."""

from __future__ import annotations

import re

import msgspec

from pi.ai.messages import Json
from pi.base.records import UNREADABLE
from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

MOST_VALUES = 1_000_000
"""Lists, objects and their members in the arguments of one call.

``[[],[],…`` takes twenty times as much memory as its text; long strings do not.
"""
LARGEST_MENDED = 4 * 1024 * 1024
"""Characters of broken arguments that are mended: each slip costs memory of its own."""

# Possessive: a plain group keeps a state per character, gigabytes for a long string. A string
# without an end is one match too; else every quote in it would be tried up to the end.
STRING = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
BAD_ESCAPE = r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'
CONTROL = r"[\x00-\x1f]"


def parse_partial(text: str) -> Json:
    """The object that ``text`` has become so far; empty when there is none yet."""
    import jiter  # with the first tool call: every first request would pay for it

    if not text or text.isspace():
        return {}
    data = text.encode("utf-8", "replace")
    if _marks(data) > MOST_VALUES:  # strings may hold the marks; what is shown meanwhile may wait
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
    """The complete arguments, or ``None`` when ``text`` is not one JSON object.

    Nothing at all counts as no arguments, an object that was encoded twice is unpacked, and the
    slips that models make inside strings (raw line ends, ``\\d``, half of a surrogate pair) are
    mended. Arguments with more than ``MOST_VALUES`` values are refused; ``why_refused`` says so.
    """
    if not text or text.isspace():
        return {}
    value = _decode(text)
    if value is None and len(text) <= LARGEST_MENDED:
        value = _decode(_mend_strings(text), mend_escapes=True)
    if isinstance(value, str):
        value = _decode(value, mend_escapes=True)
    return value if isinstance(value, dict) else None


def why_refused(text: str) -> str:
    """Which limit arguments exceed that ``parse_arguments`` refuses; empty if they are no JSON."""
    data = text.encode("utf-8", "replace")
    if _has_too_many_values(data):
        return f"they hold more than {MOST_VALUES:,} values"
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
    if _marks(data) <= MOST_VALUES:
        return False
    # A long text may hold as many commas: those of the strings at the top do not count.
    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return not data.lstrip().startswith(b'"')
    raw = (bytes(member) for member in members.values())
    return sum(_marks(value) for value in raw if not value.startswith(b'"')) > MOST_VALUES


def _marks(data: bytes) -> int:
    """At least as many as there are values."""
    if len(data) <= MOST_VALUES:
        return len(data)
    return sum(map(data.count, (b",", b"[", b"{")))


def _mend_strings(text: str) -> str:
    return re.sub(STRING, lambda found: _mend_string(found[0]), text)


def _mend_string(literal: str) -> str:
    escaped = re.sub(CONTROL, lambda found: f"\\u{ord(found[0]):04x}", literal)
    return re.sub(BAD_ESCAPE, r"\\\\", escaped)
