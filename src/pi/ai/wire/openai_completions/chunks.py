"""One event of the stream, as far as it concerns us.

Only the fields that are read are decoded, and those that servers fill in their own ways are left
as they come: whoever reads them checks them.
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
    """What is new in a choice."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    reasoning_details: Any = None
    reasoning_opaque: Any = None
    refusal: Any = None
    tool_calls: Any = None


class ChunkChoice(msgspec.Struct, gc=False):
    """One of the answers; there is one, though some servers spread it over several."""

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
    """One of the first events, which also says who answers. The later ones repeat it in vain."""

    id: Any = None
    model: Any = None
    service_tier: Any = None


_OPENINGS = msgspec.json.Decoder(FirstChunk)

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_opening = _OPENINGS.decode
"""The fast ways: they raise for whatever is not a chunk."""


def decode_oddity(data: bytes) -> FirstChunk | None:
    """What an event means that is no chunk: an error, or nothing to us.

    Raises ``BadAnswer`` when it is not even JSON.
    """
    value = read_json(data)
    if isinstance(value, dict) and is_error_object(value):
        return FirstChunk(error=value)
    return fitted(value, _OPENINGS)


# Tokens as servers count them → our ``Usage``. Pure.


MOST = 2**53
"""No count is larger; infinities are not counts either."""


def parse_usage(counted: Any) -> Usage | None:
    """The counts of ``counted``; ``None`` where it has none, for zeros tell nothing.

    Cached tokens are part of the prompt and thoughts part of the output, wherever they are told.
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
        output += reasoning  # xAI and Google count thoughts apart
    return Usage(
        input=max(prompt - read - written, 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=UNSET if thoughts is None else min(reasoning, output),
    )


def reported_cost(counted: Json) -> float | None:
    """What the server says that the request cost, in dollars, as OpenRouter does."""
    return _number(counted.get("cost"))


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(values: Json, name: str) -> int:
    return int(_number(values.get(name)) or 0)


def _number(value: object) -> float | None:
    """A number that can be an amount of something."""
    if isinstance(value, int | float) and 0 <= value < MOST:
        return value
    return None


# Thoughts that come in fields of their own, and the proofs that come with some of them. Pure.


WORDS = ("text", "summary")
"""Fields of a detail that grow; all others are replaced."""
PROOFS = ("signature", "data")
"""Fields of a detail that only its author understands and wants back."""


class ReasoningDetails:
    """What comes with thoughts and must go back: OpenRouter's details, or Copilot's blob."""

    def __init__(self) -> None:
        self.opaque = ""
        """The blob, which comes whole with any delta, also with one that tells no thought."""
        self._details: list[tuple[Json, dict[str, list[str]]]] = []

    def add(self, pieces: Any) -> str:
        """Take what came; gives the words in it."""
        said = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                said += self._merge(piece)
        return said

    @property
    def proof(self) -> str | None:
        """All of it as JSON, if the server wants to see it again."""
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


def thought(delta: Delta, details: ReasoningDetails) -> tuple[str, str]:
    """The new part of a thought and the field that it came in.

    Servers may say the same in several fields; one of them is enough.
    """
    told = "" if delta.reasoning_details is None else details.add(delta.reasoning_details)
    if delta.reasoning_opaque and isinstance(delta.reasoning_opaque, str):
        details.opaque = delta.reasoning_opaque
    for field in REASONING_FIELDS:
        text = getattr(delta, field)
        if text and isinstance(text, str):
            return text, field
    return told, REASONING_DETAILS


def _continues(fields: Json, piece: Json) -> bool:
    return all(fields.get(name) == piece.get(name) for name in ("type", "index"))
