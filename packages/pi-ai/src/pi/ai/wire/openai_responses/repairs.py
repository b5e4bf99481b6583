"""Repairs of rejected requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi.ai.errors import BadRequest
from pi.ai.messages import AssistantMessage, Json
from pi.ai.wire_support.repairs import (
    Repairs,
    without_thinking,
)
from pi.base.records import replace

if TYPE_CHECKING:
    # Lazy: loaded while the server answers.
    pass


_REFUSED_THOUGHT = r"invalid_encrypted_content|Item (?:with id )?'rs_"

_REFUSED_SCHEMA = r"invalid_function_parameters|Invalid schema for function"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``, if its cause is in ``payload``."""
    if refusal.status is None:  # an error inside a stream that had begun
        return None
    if re.search(_REFUSED_THOUGHT, refusal.message):
        items = payload.get("input") or ()
        has_reasoning = any(item.get("type") == "reasoning" for item in items)
        return Repairs(thinking=True) if has_reasoning else None
    if re.search(_REFUSED_SCHEMA, refusal.message):
        tools = payload.get("tools") or ()
        return Repairs(strict=True) if any(tool.get("strict") for tool in tools) else None
    return None


def drop_reasoning(answer: AssistantMessage) -> AssistantMessage:
    """Return ``answer`` without reasoning, and without ids of items that depend on it."""
    return replace(without_thinking(answer), model="")
