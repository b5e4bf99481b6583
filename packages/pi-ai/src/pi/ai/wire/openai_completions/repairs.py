"""Repairs of rejected requests."""

from __future__ import annotations

import re

from pi.ai.errors import BadRequest
from pi.ai.kept import as_json
from pi.ai.messages import Json
from pi.ai.wire.openai_completions.history import REASONING_DETAILS, REASONING_OPAQUE
from pi.ai.wire_support.repairs import (
    Repairs,
)

TOKEN_IDS_FIELD = "return_token_ids"
_REFUSED_THOUGHT = r"(?i)signature|thinking|reasoning"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``.

    The messages of servers vary too much to be classified: only strictness is worth another try.
    """
    if re.search(_REFUSED_THOUGHT, refusal.message) and _has_proofs(payload):
        return Repairs(thinking=True)
    # Servers name what they do not know in many ways, so that any other refusal is a reason.
    if payload.get(TOKEN_IDS_FIELD):
        return Repairs(token_ids=True)
    strict = any(_is_strict(tool) for tool in payload.get("tools") or ())
    return Repairs(strict=True) if strict else None


def _has_proofs(payload: Json) -> bool:
    return any(
        isinstance(message, dict) and message.keys() & {REASONING_DETAILS, REASONING_OPAQUE}
        for message in map(as_json, payload.get("messages") or ())
    )


def _is_strict(tool: object) -> bool:
    match tool:
        case {"function": {"strict": True}}:
            return True
        case _:
            return False
