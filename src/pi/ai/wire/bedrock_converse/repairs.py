"""What to leave out of a request that was refused, so that it is not refused again. Pure.

Bedrock says only ``ValidationException`` and a sentence, so here the sentence decides; each repair
also needs its cause in the payload, and so is made once.
"""

from __future__ import annotations

import re

from pi.ai.diagnostics import STRICT_REJECTED, THINKING_REJECTED
from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.wire.bedrock_converse.tools import without_strict

_SIGNATURE = re.compile(r"signature|thinking.*blocks.*cannot be modified", re.I | re.S)


def next_repair(refusal: BadRequest, payload: Json) -> tuple[str, Json] | None:
    """The kind of the repair that ``refusal`` asks for and the repaired payload; or ``None``."""
    if refusal.status is None:
        return None  # it was refused after the answer had begun
    if _SIGNATURE.search(refusal.message) and (forgetful := without_thoughts(payload)) is not None:
        return THINKING_REJECTED, forgetful
    if (loose := without_strict(payload)) is not None:
        return STRICT_REJECTED, loose
    return None


def without_thoughts(payload: Json) -> Json | None:
    """``payload`` without earlier thoughts; ``None`` where it has none."""
    kept: list[Json] = []
    for message in payload.get("messages", ()):
        content = [block for block in message["content"] if "reasoningContent" not in block]
        if content:
            kept.append({**message, "content": content})
    if kept == payload.get("messages"):
        return None
    repaired = {**payload, "messages": kept}
    fields = payload.get("additionalModelRequestFields") or {}
    if (fields.get("thinking") or {}).get("type") == "enabled":
        # A model that thinks within a budget wants the thoughts before its last calls back.
        del repaired["additionalModelRequestFields"]
    return repaired
