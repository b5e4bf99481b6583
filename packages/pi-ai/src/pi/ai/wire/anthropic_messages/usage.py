"""Token counts of a response. Pure."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import Json, Usage
from pi.base.records import replace

_INPUT = {
    "input": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


def counted(usage: Usage, counts: Json) -> Usage:
    """Return ``usage`` updated with the counts of an event.

    Counts come in two events and may be missing, null or zero in the second, so empty counts are
    ignored; but the input counts are taken together, as a server may first report everything as
    input and later which part came from a cache.
    """
    changes = {
        field: count
        for field, name in _INPUT.items()
        if (count := _valid_count(counts.get(name))) is not None
    }
    if not any(changes.values()):
        changes = {}
    for field, count in {
        "output": _valid_count(counts.get("output_tokens")),
        "cache_write_1h": _nested(counts, "cache_creation", "ephemeral_1h_input_tokens"),
        "reasoning": _nested(counts, "output_tokens_details", "thinking_tokens"),
    }.items():
        if count:
            changes[field] = count
    return replace(usage, **changes)


def _nested(counts: Json, group: str, name: str) -> int | None:
    inner = counts.get(group)
    return _valid_count(inner.get(name)) if isinstance(inner, dict) else None


def _valid_count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 1e15 else None
