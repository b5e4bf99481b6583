"""Prices: the rates of a request, and the cost of its usage. Pure."""

from msgspec import UNSET

from pi.ai.messages import Cost, Usage
from pi.ai.models.model import ModelCost, Rates
from pi.base.records import replace

MILLION = 1_000_000

HOUR_WRITE_FACTOR = 2.0
"""Price factor of a cache entry that is kept for an hour, relative to plain input."""

TIER_FACTORS = {"flex": 0.5, "priority": 2.0}
"""Price factors of OpenAI's service tiers; other tiers have 1."""


def rates_for(prices: ModelCost, prompt_tokens: int) -> Rates:
    """Return the rates of a request: those of the highest tier whose threshold the prompt
    exceeds."""
    reached = [tier for tier in (prices.tiers or ()) if prompt_tokens > tier.input_tokens_above]
    return max(reached, key=lambda tier: tier.input_tokens_above) if reached else prices


def priced(
    usage: Usage, prices: ModelCost, *, factor: float = 1.0, charged: float | None = None
) -> Usage:
    """Return ``usage`` with its total and its cost.

    ``factor`` is the service tier's; ``charged`` is a total that the server reported itself.
    """
    rates = rates_for(prices, usage.input + usage.cache_read + usage.cache_write)
    for_an_hour = 0 if usage.cache_write_1h is UNSET else usage.cache_write_1h
    assert isinstance(for_an_hour, int)
    short = usage.cache_write - for_an_hour
    cost = Cost(
        input=usage.input * rates.input * factor / MILLION,
        output=usage.output * rates.output * factor / MILLION,
        cache_read=usage.cache_read * rates.cache_read * factor / MILLION,
        cache_write=(short * rates.cache_write + for_an_hour * rates.input * HOUR_WRITE_FACTOR)
        * factor
        / MILLION,
    )
    total = cost.input + cost.output + cost.cache_read + cost.cache_write
    return replace(
        usage,
        total_tokens=usage.total_tokens
        or usage.input + usage.output + usage.cache_read + usage.cache_write,
        cost=replace(cost, total=total if charged is None else charged),
    )
