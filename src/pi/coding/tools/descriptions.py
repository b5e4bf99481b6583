"""What models are told of the built-in tools, from the texts beside their modules."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from pi.ai.messages import Json

PREFER_STRICT: Final[Json] = {"type": "json_schema", "strict": "prefer"}
"""Providers that can make a model keep to the schema are asked to."""


@cache
def description(tool: str) -> str:
    """The description of a tool, e.g. of ``read``; its name, where the texts were left out."""
    try:
        return Path(__file__).with_name(f"{tool}.md").read_text(encoding="utf-8").strip()
    except OSError:  # packed into another program, without files that are not code
        return tool.replace("_", " ")
