"""JSON as it is sent and as it arrives. Pure.

What is sent is compact and free of halves of surrogate pairs, which no server accepts. Text from
models, tools and files may hold them. Looking for them in every string would cost more than the
request; the encoder finds them for nothing, and only then is the value cleaned.

What arrives is decoded by each wire into its own shapes, fast and strictly. Only what its decoder
refuses is read again here, as tolerantly as can be: one bad byte must not cost the whole answer.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from pi.ai.errors import BadAnswer
from pi.ai.messages import Json
from pi.base.records import UNREADABLE
from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

T = TypeVar("T")

DONE = b"[DONE]"
"""The last event of servers that follow OpenAI, which is not JSON."""
MOST_SHOWN = 200
"""Characters of an event that is not JSON that the error message quotes."""


def json_bytes(value: Any) -> bytes:
    """``value`` as JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(value))


def json_text(value: Any) -> str:
    """``value`` as JSON, for wires that put JSON into a JSON string."""
    return json_bytes(value).decode()


def clean_json(value: Any) -> Any:
    """A JSON value whose strings and keys can all be written as UTF-8."""
    match value:
        case str():
            return without_surrogates(value)
        case dict():
            return {without_surrogates(key): clean_json(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            return value


def without_surrogates(text: str) -> str:
    """``text`` without what cannot be written as UTF-8; the two halves of a pair are joined."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "ignore").decode()


def read_lenient(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """What ``decoder`` should make of data that it has refused.

    ``None`` where it is of another shape or says nothing. Raises ``BadAnswer`` when it is not JSON.
    """
    return fitted(read_json(data), decoder)


def fitted(value: Any, decoder: msgspec.json.Decoder[T]) -> T | None:
    """A JSON value as what ``decoder`` makes of JSON; ``None`` where it does not fit."""
    try:
        return msgspec.convert(value, decoder.type, strict=decoder.strict)
    except (msgspec.ValidationError, RecursionError):
        return None


def read_json(data: bytes) -> Any:
    """The JSON value in ``data``; ``None`` where it is blank or ``DONE``.

    Invalid UTF-8, halves of surrogate pairs and raw control characters do no harm. Raises
    ``BadAnswer`` when it is not JSON even so.
    """
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        return None if data.strip() in (b"", DONE) else _read_leniently(data)


def _read_leniently(data: bytes) -> Any:
    import json  # only here: hardly any server needs it

    text = data.decode("utf-8", "replace")
    try:
        return clean_json(json.loads(text, strict=False))
    except (ValueError, RecursionError) as error:
        shown = text[:MOST_SHOWN]
        raise BadAnswer(f"The server sent an event that is not JSON: {shown}") from error


# Arguments of a tool call while they arrive, and whole, in all the shapes servers send.


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
