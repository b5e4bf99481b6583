"""Encodes, cleans and parses JSON of requests and responses. Pure.

Requests are compact and free of lone surrogates, which no server accepts. Text from models, tools
and files may hold them. Searching every string would cost more than the request; the encoder fails
on them at no cost, and only then is the value cleaned.

Responses are decoded by each wire into its own records, fast and strictly. Only data that a decoder
rejects is read again here, as leniently as possible: one bad byte must not lose the whole response.
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
MAX_SHOWN = 200
"""Characters of an invalid event that the error message quotes."""


def json_bytes(value: Any) -> bytes:
    """Return ``value`` as JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_json(value))


def json_text(value: Any) -> str:
    """Return ``value`` as JSON text, for wires that put JSON into a JSON string."""
    return json_bytes(value).decode()


def clean_json(value: Any) -> Any:
    """Return a JSON value whose strings and keys can all be encoded as UTF-8."""
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
    """Return ``text`` without lone surrogates; the two halves of a pair are joined."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "ignore").decode()


def read_lenient(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """Decode data that ``decoder`` has rejected.

    Returns ``None`` if it does not fit or is empty. Raises ``BadAnswer`` if it is not JSON.
    """
    return fitted(read_json(data), decoder)


def fitted(value: Any, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Convert a JSON value to the type of ``decoder``; ``None`` if it does not fit."""
    try:
        return msgspec.convert(value, decoder.type, strict=decoder.strict)
    except (msgspec.ValidationError, RecursionError):
        return None


def read_json(data: bytes) -> Any:
    """Return the JSON value in ``data``; ``None`` if it is blank or ``DONE``.

    Tolerates invalid UTF-8, lone surrogates and raw control characters. Raises ``BadAnswer`` if it
    is not JSON even so.
    """
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        return None if data.strip() in (b"", DONE) else _read_leniently(data)


def _read_leniently(data: bytes) -> Any:
    import json  # lazy: hardly any server needs it

    text = data.decode("utf-8", "replace")
    try:
        return clean_json(json.loads(text, strict=False))
    except (ValueError, RecursionError) as error:
        excerpt = text[:MAX_SHOWN]
        raise BadAnswer(f"The server sent an event that is not JSON: {excerpt}") from error


# Arguments of tool calls, partial and complete ----------------------------------------------------


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
