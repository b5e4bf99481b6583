"""Repairs of rejected requests.

Bedrock sends only ``ValidationException`` and a sentence, so the sentence decides; each repair
also needs its cause in the payload.
"""

from __future__ import annotations

import re

from pi.ai.errors import BadRequest
from pi.ai.messages import (
    Json,
)
from pi.ai.wire_support.repairs import (
    Repairs,
)

_SIGNATURE = r"(?is)signature|thinking.*blocks.*cannot be modified"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``."""
    if refusal.status is None:
        return None  # it was rejected after the response had begun
    if re.search(_SIGNATURE, refusal.message) and _has_thoughts(payload):
        return Repairs(thinking=True)
    tools = (payload.get("toolConfig") or {}).get("tools", ())
    strict = any(tool.get("toolSpec", {}).get("strict") for tool in tools)
    return Repairs(strict=True) if strict else None


def _has_thoughts(payload: Json) -> bool:
    return any(
        "reasoningContent" in block
        for message in payload.get("messages", ())
        for block in message["content"]
    )
