"""What to leave out of a request that the server refused, so that it is not refused again. Pure."""

from __future__ import annotations

from pi.ai.diagnostics import Repairs
from pi.ai.errors import BadRequest
from pi.ai.messages import Json


def next_repair(_: BadRequest, payload: Json) -> Repairs | None:
    """The repair that a refusal of ``payload`` asks for.

    Servers say it in too many ways to be told apart: strictness alone is worth another try.
    """
    strict = any(_is_strict(tool) for tool in payload.get("tools") or ())
    return Repairs(strict=True) if strict else None


def _is_strict(tool: object) -> bool:
    match tool:
        case {"function": {"strict": True}}:
            return True
        case _:
            return False
