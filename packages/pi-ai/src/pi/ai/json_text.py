"""Encodes, cleans and parses JSON of requests and responses. Pure.

Requests are compact and free of lone surrogates, which no server accepts. Text from models, tools
and files may hold them. Searching every string would cost more than the request; the encoder fails
on them at no cost, and only then is the value cleaned.

Responses are decoded by each wire into its own records, fast and strictly. Only data that a decoder
rejects is read again here, as leniently as possible: one bad byte must not lose the whole response.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from pi.ai.errors import BadAnswer
from pi.base.records import UNREADABLE

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
