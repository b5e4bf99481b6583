"""JSON as it is sent and as it arrives. Pure.

What is sent is compact and free of halves of surrogate pairs, which no server accepts. Text from
models, tools and files may hold them. Looking for them in every string would cost more than the
request; the encoder finds them for nothing, and only then is the value cleaned.

What arrives is decoded by each wire into its own shapes, fast and strictly. Only what its decoder
refuses is read again here, as tolerantly as can be: one bad byte must not cost the whole answer.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from pi.ai.errors import BadAnswer
from pi.base.records import UNREADABLE

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


def read_odd_event(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
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
    except (ValueError, RecursionError) as problem:
        shown = text[:MOST_SHOWN]
        raise BadAnswer(f"The server sent an event that is not JSON: {shown}") from problem
