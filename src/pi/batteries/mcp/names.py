"""Names of tools for models, and the alias that rules of other agents use. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MAX_NAME = 64
PREFIX = "mcp__"


def tool_name(server: str, tool: str) -> str:
    """``mcp__<server>_<tool>``, shortened with a hash if it is too long for providers."""
    return _fit(f"{PREFIX}{_word(server)}_{_word(tool)}", server, tool)


def tool_alias(server: str, tool: str) -> str:
    """``mcp__<server>__<tool>``, as other agents call it."""
    return _fit(f"{PREFIX}{_word(server)}__{_word(tool)}", server, tool)


def unique_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of all tools, as pairs of server and tool.

    On a collision the first pair in sorted order has the plain name and the others one with a
    hash, so that a name does not depend on which server was ready first.
    """
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for pair in sorted(set(tools)):
        name = tool_name(*pair)
        if name in taken:
            name = _hashed(name, *pair)
        taken.add(name)
        names[pair] = name
    return names


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text).strip("_") or "x"


def _fit(name: str, server: str, tool: str) -> str:
    return name if len(name) <= MAX_NAME else _hashed(name, server, tool)


def _hashed(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"
