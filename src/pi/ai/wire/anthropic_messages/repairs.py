"""What to change in a request that the server refused, so that it need not be refused again. Pure.

The server says only ``invalid_request_error`` and a sentence, so here the sentence decides; each
repair also needs its cause in the payload and is tried once.
"""

from __future__ import annotations

import re

from pi.ai.diagnostics import STRICT_REJECTED, THINKING_REJECTED, TOOL_REJECTED
from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.base.records import Record, replace

MOST_TOOLS = 3
"""Tools that are given up, one after the other, before the refusal counts."""

_SIGNATURE = re.compile(
    r"signature.*thinking|thinking.*signature|thinking.*blocks.*cannot be modified",
    re.IGNORECASE | re.DOTALL,
)
_STRICT = re.compile(r"strict|schema|grammar", re.IGNORECASE)
_TOOL = re.compile(r"tools\.(\d+)\.(?:custom\.)?input_schema")


class Repairs(Record):
    """What is left out of a request."""

    thinking: bool = False
    """The earlier thoughts."""
    strict: bool = False
    """Strictness of tools."""
    tools: frozenset[str] = frozenset()
    """Tools with schemas that the server cannot take."""


def next_repair(refusal: BadRequest, payload: Json, done: Repairs) -> tuple[str, Repairs] | None:
    """The kind of the repair that ``refusal`` asks for, and all repairs with it; or ``None``."""
    said = refusal.message
    if not done.thinking and _SIGNATURE.search(said) and _has_thoughts(payload):
        return THINKING_REJECTED, replace(done, thinking=True)
    tools = payload.get("tools", [])
    if not done.strict and _STRICT.search(said) and any(tool.get("strict") for tool in tools):
        return STRICT_REJECTED, replace(done, strict=True)
    refused = _refused_tool(said, tools)
    if refused and refused not in done.tools and len(done.tools) < MOST_TOOLS:
        return TOOL_REJECTED, replace(done, tools=done.tools | {refused})
    return None


def _refused_tool(said: str, tools: list[Json]) -> str:
    """The name of the tool whose schema the sentence is about."""
    found = _TOOL.search(said)
    return str(tools[int(found[1])]["name"]) if found and int(found[1]) < len(tools) else ""


def _has_thoughts(payload: Json) -> bool:
    return any(
        isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
        for message in payload.get("messages", [])
        for block in message.get("content", [])
    )
