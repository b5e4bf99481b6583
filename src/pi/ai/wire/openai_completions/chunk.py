"""One event of the stream, as far as it concerns us.

Only the fields that are read are decoded, and those that servers fill in their own ways are left
as they come: whoever reads them checks them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pi.ai.error_codes import is_problem
from pi.ai.json_text import fitted, read_json


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


class Choice(msgspec.Struct, gc=False):
    """One of the answers; there is one, though some servers spread it over several."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    usage: Any = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    """The event."""

    choices: list[Choice | None] | None = None
    usage: Any = None
    error: Any = None


class Opening(Chunk, gc=False):
    """One of the first events, which also says who answers. The later ones repeat it in vain."""

    id: Any = None
    model: Any = None
    service_tier: Any = None


_OPENINGS = msgspec.json.Decoder(Opening)

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_opening = _OPENINGS.decode
"""The fast ways: they raise for whatever is not a chunk."""


def decode_oddity(data: bytes) -> Opening | None:
    """What an event means that is no chunk: an error, or nothing to us.

    Raises ``BadAnswer`` when it is not even JSON.
    """
    value = read_json(data)
    if isinstance(value, dict) and is_problem(value):
        return Opening(error=value)
    return fitted(value, _OPENINGS)
