"""Repairs of rejected requests.

The server sends only ``invalid_request_error`` and a sentence, so the sentence decides; each
repair also needs its cause in the payload.
"""

from __future__ import annotations

import re

from pi.ai.errors import BadRequest
from pi.ai.kept import as_json
from pi.ai.messages import (
    Json,
)
from pi.ai.wire_support.repairs import (
    Repairs,
)

_SIGNATURE = r"(?is)signature.*thinking|thinking.*signature|thinking.*blocks.*cannot be modified"

_STRICT = r"(?i)strict|schema|grammar"

_TOOL = r"tools\.(\d+)\.(?:custom\.)?input_schema"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``."""
    message = refusal.message
    if re.search(_SIGNATURE, message) and _has_thoughts(payload):
        return Repairs(thinking=True)
    tools = payload.get("tools", [])
    if re.search(_STRICT, message) and any(tool.get("strict") for tool in tools):
        return Repairs(strict=True)
    refused = _refused_tool(message, tools)
    return Repairs(tools=frozenset({refused})) if refused else None


def _refused_tool(message: str, tools: list[Json]) -> str:
    """Return the name of the tool whose schema the sentence is about."""
    match = re.search(_TOOL, message)
    return str(tools[int(match[1])]["name"]) if match and int(match[1]) < len(tools) else ""


def _has_thoughts(payload: Json) -> bool:
    return any(
        isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
        for message in map(as_json, payload.get("messages", []))
        for block in message.get("content", [])
    )
