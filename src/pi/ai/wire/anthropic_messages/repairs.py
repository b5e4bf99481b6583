"""What to leave out of a request that the server refused, so that it is not refused again. Pure.

The server says only ``invalid_request_error`` and a sentence, so here the sentence decides; each
repair also needs its cause in the payload.
"""

from __future__ import annotations

import re

from pi.ai.diagnostics import Repairs
from pi.ai.errors import BadRequest
from pi.ai.messages import Json

_SIGNATURE = r"(?is)signature.*thinking|thinking.*signature|thinking.*blocks.*cannot be modified"
_STRICT = r"(?i)strict|schema|grammar"
_TOOL = r"tools\.(\d+)\.(?:custom\.)?input_schema"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """The repair that ``refusal`` asks for."""
    said = refusal.message
    if re.search(_SIGNATURE, said) and _has_thoughts(payload):
        return Repairs(thinking=True)
    tools = payload.get("tools", [])
    if re.search(_STRICT, said) and any(tool.get("strict") for tool in tools):
        return Repairs(strict=True)
    refused = _refused_tool(said, tools)
    return Repairs(tools=frozenset({refused})) if refused else None


def _refused_tool(said: str, tools: list[Json]) -> str:
    """The name of the tool whose schema the sentence is about."""
    found = re.search(_TOOL, said)
    return str(tools[int(found[1])]["name"]) if found and int(found[1]) < len(tools) else ""


def _has_thoughts(payload: Json) -> bool:
    return any(
        isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
        for message in payload.get("messages", [])
        for block in message.get("content", [])
    )
