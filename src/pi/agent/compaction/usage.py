"""What several requests cost together. Pure."""

from __future__ import annotations

from pi.ai.messages import Cost, Usage
from pi.base.records import UNSET, UnsetType


def added(one: Usage, other: Usage) -> Usage:
    """The sum of both; what neither reports stays unreported."""
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        cache_write_1h=_sum(one.cache_write_1h, other.cache_write_1h),
        reasoning=_sum(one.reasoning, other.reasoning),
        total_tokens=one.total_tokens + other.total_tokens,
        cost=Cost(
            input=one.cost.input + other.cost.input,
            output=one.cost.output + other.cost.output,
            cache_read=one.cost.cache_read + other.cost.cache_read,
            cache_write=one.cost.cache_write + other.cost.cache_write,
            total=one.cost.total + other.cost.total,
        ),
    )


def _sum(one: int | UnsetType, other: int | UnsetType) -> int | UnsetType:
    if one is UNSET:
        return other
    return one if other is UNSET else one + other
