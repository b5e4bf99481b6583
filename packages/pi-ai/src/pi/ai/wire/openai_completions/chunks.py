"""Event records of the stream.

Only fields that are used are decoded. Fields that servers fill in different ways are left
undecoded; their readers check them.
"""

# Without `from __future__ import annotations`: every request decodes these records, and msgspec
# has to compile each annotation that is a string.

from typing import Any

import msgspec

from pi.ai.failures.details import is_error_object
from pi.ai.json_text import fitted, read_json


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
    token_ids: Any = None
    logprobs: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream."""

    choices: list[ChunkChoice | None] | None = None
    usage: Any = None
    error: Any = None


class FirstChunk(Chunk, gc=False):
    """First chunks carry id and model; later ones repeat them and are not read."""

    id: Any = None
    model: Any = None
    service_tier: Any = None
    prompt_token_ids: Any = None


_OPENINGS = msgspec.json.Decoder(FirstChunk)

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_first = _OPENINGS.decode
"""Fast decoders: they raise for everything that is not a chunk."""


def decode_lenient(data: bytes) -> FirstChunk | None:
    """Decode an event that is not a chunk: an error, or nothing.

    Raises ``BadAnswer`` if it is not even JSON.
    """
    value = read_json(data)
    if isinstance(value, dict) and is_error_object(value):
        return FirstChunk(error=value)
    return fitted(value, _OPENINGS)
