"""Tokens as servers count them → our ``Usage``. Pure."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import Json, Usage
from pi.base.records import UNSET

MOST = 2**53
"""No count is larger; infinities are not counts either."""


def parse_usage(counted: Any) -> Usage | None:
    """The counts of ``counted``; ``None`` where it has none, for zeros tell nothing.

    Cached tokens are part of the prompt and thoughts part of the output, wherever they are told.
    """
    if not isinstance(counted, dict):
        return None
    prompt, output = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if not prompt and not output:
        return None
    details = _object(counted, "prompt_tokens_details")
    read = (
        _count(details, "cached_tokens")
        or _count(counted, "prompt_cache_hit_tokens")
        or _count(counted, "cached_tokens")
    )
    written = _count(details, "cache_write_tokens")
    thoughts = _number(_object(counted, "completion_tokens_details").get("reasoning_tokens"))
    reasoning = int(thoughts or 0)
    if reasoning and _count(counted, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI and Google count thoughts apart
    return Usage(
        input=max(prompt - read - written, 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=UNSET if thoughts is None else min(reasoning, output),
    )


def charged(counted: Json) -> float | None:
    """What the server says that the request cost, in dollars, as OpenRouter does."""
    return _number(counted.get("cost"))


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(values: Json, name: str) -> int:
    return int(_number(values.get(name)) or 0)


def _number(value: object) -> float | None:
    """A number that can be an amount of something."""
    if isinstance(value, int | float) and 0 <= value < MOST:
        return value
    return None
