"""Event records, token counts and reasoning details of the stream.

Only fields that are used are decoded. Fields that servers fill in different ways are left
undecoded; their readers check them.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from pi.ai.failures.codes import is_error_object
from pi.ai.json_text import fitted, json_text, read_json
from pi.ai.messages import Json, Usage
from pi.ai.wire.openai_completions.history import (
    REASONING_DETAILS,
    REASONING_FIELDS,
    REASONING_OPAQUE,
)


class Delta(msgspec.Struct, gc=False):
    """The new content of a choice."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    reasoning_details: Any = None
    reasoning_opaque: Any = None
    refusal: Any = None
    tool_calls: Any = None


class ChunkChoice(msgspec.Struct, gc=False):
    """One of the alternatives; there is one, though some servers spread it over several."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    usage: Any = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    """The event."""

    choices: list[ChunkChoice | None] | None = None
    usage: Any = None
    error: Any = None


class FirstChunk(Chunk, gc=False):
    """First chunks carry id and model; later ones repeat them and are not read."""

    id: Any = None
    model: Any = None
    service_tier: Any = None


_OPENINGS = msgspec.json.Decoder(FirstChunk)

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_first = _OPENINGS.decode
"""Fast decoders: they raise for everything that is not a chunk."""


def decode_lenient(data: bytes) -> FirstChunk | None:
    """Decodes an event that is not a chunk: an error, or nothing.

    Raises ``BadAnswer`` if it is not even JSON.
    """
    value = read_json(data)
    if isinstance(value, dict) and is_error_object(value):
        return FirstChunk(error=value)
    return fitted(value, _OPENINGS)


# Token counts of servers.


MAX_COUNT = 2**53
"""No count is larger; infinities are not counts either."""


def parse_usage(counted: Any) -> Usage | None:
    """Returns the counts of ``counted``; ``None`` if it has none, since zeros mean nothing.

    Cached tokens are part of the prompt and thinking is part of the output, in whichever field they
    are reported.
    """
    if not isinstance(counted, dict):
        return None
    prompt, output = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if not prompt and not output:
        return None
    details = _object(counted, "prompt_tokens_details")
    read = (
        _count(details, "cached_tokens")
        or _count(counted, "prompt_cache_hit_tokens")
        or _count(counted, "cached_tokens")
    )
    written = _count(details, "cache_write_tokens")
    thoughts = _number(_object(counted, "completion_tokens_details").get("reasoning_tokens"))
    reasoning = int(thoughts or 0)
    if reasoning and _count(counted, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI and Google count thinking separately
    return Usage(
        input=max(prompt - read - written, 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=UNSET if thoughts is None else min(reasoning, output),
    )


def reported_cost(counted: Json) -> float | None:
    """Returns the cost that the server reports, in dollars, as OpenRouter does."""
    return _number(counted.get("cost"))


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(values: Json, name: str) -> int:
    return int(_number(values.get(name)) or 0)


def _number(value: object) -> float | None:
    """Returns a number that can be an amount."""
    if isinstance(value, int | float) and 0 <= value < MAX_COUNT:
        return value
    return None


# Thinking in fields of its own, with signatures.


WORDS = ("text", "summary")
"""Fields of a detail that grow; all others are replaced."""
PROOFS = ("signature", "data")
"""Opaque fields of a detail that must be sent back."""


class ReasoningDetails:
    """What comes with thinking and must be sent back: OpenRouter's details, or Copilot's blob."""

    def __init__(self) -> None:
        self.opaque = ""
        """The blob, which comes whole with any delta, also with one without thinking."""
        self._details: list[tuple[Json, dict[str, list[str]]]] = []

    def add(self, pieces: Any) -> str:
        """Take new details; returns the text in them."""
        said = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                said += self._merge(piece)
        return said

    @property
    def proof(self) -> str | None:
        """Returns all of it as JSON, if the server requires it back."""
        if not any(fields.get(name) for fields, _ in self._details for name in PROOFS):
            return json_text({REASONING_OPAQUE: self.opaque}) if self.opaque else None
        return json_text(
            [
                fields | {name: "".join(parts) for name, parts in words.items()}
                for fields, words in self._details
            ]
        )

    def _merge(self, piece: Json) -> str:
        if not self._details or not _continues(self._details[-1][0], piece):
            self._details.append(({}, {}))
        fields, words = self._details[-1]
        said = ""
        for name, value in piece.items():
            if name in WORDS and isinstance(value, str):
                words.setdefault(name, []).append(value)
                said += value
            elif value is not None or name not in fields:
                fields[name] = value
        return said


def thinking_delta(delta: Delta, details: ReasoningDetails) -> tuple[str, str]:
    """Returns the new thinking text and its field.

    Servers may send the same text in several fields; only one is used.
    """
    in_details = "" if delta.reasoning_details is None else details.add(delta.reasoning_details)
    if delta.reasoning_opaque and isinstance(delta.reasoning_opaque, str):
        details.opaque = delta.reasoning_opaque
    for field in REASONING_FIELDS:
        text = getattr(delta, field)
        if text and isinstance(text, str):
            return text, field
    return in_details, REASONING_DETAILS


def _continues(fields: Json, piece: Json) -> bool:
    return all(fields.get(name) == piece.get(name) for name in ("type", "index"))
