"""What to leave out of a request that the server refused, so that it is not refused again. Pure."""

from __future__ import annotations

import re

from pi.ai.diagnostics import Repairs, without_thoughts
from pi.ai.errors import BadRequest
from pi.ai.messages import AssistantMessage, Json
from pi.base.records import replace

_REFUSED_THOUGHT = r"invalid_encrypted_content|Item (?:with id )?'rs_"
_REFUSED_SCHEMA = r"invalid_function_parameters|Invalid schema for function"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """The repair that ``refusal`` asks for, if its cause is in ``payload``."""
    if refusal.status is None:  # it came inside a stream that had begun
        return None
    if re.search(_REFUSED_THOUGHT, refusal.message):
        items = payload.get("input") or ()
        thoughtful = any(item.get("type") == "reasoning" for item in items)
        return Repairs(thinking=True) if thoughtful else None
    if re.search(_REFUSED_SCHEMA, refusal.message):
        tools = payload.get("tools") or ()
        return Repairs(strict=True) if any(tool.get("strict") for tool in tools) else None
    return None


def forget_thoughts(answer: AssistantMessage) -> AssistantMessage:
    """``answer`` as if somebody else had given it: ids of items that stood behind a thought go."""
    return replace(without_thoughts(answer), model="")
