"""Repairs of rejected requests."""

from __future__ import annotations

import re

from pi.ai.errors import BadRequest
from pi.ai.messages import (
    Json,
)
from pi.ai.wire.google_generate.history import UNSIGNED
from pi.ai.wire_support.repairs import Repairs

_SIGNATURE = r"(?i)(?:corrupted|invalid) thought.?signature|signature is not valid"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``, if its cause is in ``payload``."""
    if re.search(_SIGNATURE, refusal.message) and _has_signatures(payload):
        return Repairs(thinking=True)
    return None


def _has_signatures(payload: Json) -> bool:
    return any(
        part.get("thoughtSignature", UNSIGNED) != UNSIGNED
        for content in payload.get("contents", ())
        for part in content.get("parts", ())
    )
