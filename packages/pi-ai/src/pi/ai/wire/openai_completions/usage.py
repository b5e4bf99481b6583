"""Token counts of a response. Pure."""

from typing import Any

from msgspec import UNSET

from pi.ai.messages import Json, Usage

MAX_COUNT = 2**53
"""Limit of plausible counts; larger numbers and infinities are ignored."""


def parse_usage(counted: Any) -> Usage | None:
    """Return the counts of ``counted``; ``None`` if it has none, since zeros mean nothing.

    Cached tokens are part of the prompt and thinking is part of the output, in whichever field they
    are reported.
    """
    if not isinstance(counted, dict):
        return None
    prompt, output = (
        _read_count(counted, "prompt_tokens"),
        _read_count(counted, "completion_tokens"),
    )
    if not prompt and not output:
        return None
    details = _object(counted, "prompt_tokens_details")
    read = (
        _read_count(details, "cached_tokens")
        or _read_count(counted, "prompt_cache_hit_tokens")
        or _read_count(counted, "cached_tokens")
    )
    cache_write = _read_count(details, "cache_write_tokens")
    thoughts = _number(_object(counted, "completion_tokens_details").get("reasoning_tokens"))
    reasoning = int(thoughts or 0)
    if reasoning and _read_count(counted, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI and Google count thinking separately
    return Usage(
        input=max(prompt - read - cache_write, 0),
        output=output,
        cache_read=read,
        cache_write=cache_write,
        reasoning=UNSET if thoughts is None else min(reasoning, output),
    )


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _read_count(values: Json, name: str) -> int:
    return int(_number(values.get(name)) or 0)


def _number(value: object) -> float | None:
    """Return ``value`` if it is a plausible amount, else ``None``."""
    if isinstance(value, int | float) and 0 <= value < MAX_COUNT:
        return value
    return None
