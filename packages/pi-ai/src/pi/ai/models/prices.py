"""Prices: the rates of a request, and the cost of its usage. Pure."""

from msgspec import UNSET

from pi.ai.messages import Cost, Json, Usage
from pi.ai.models.model import ModelCost, Rates
from pi.base.records import replace

MILLION = 1_000_000

HOUR_WRITE_FACTOR = 2.0
"""Price factor of a cache entry that is kept for an hour, relative to plain input."""

HIGHEST_COST = 1e9
"""Limit of plausible costs; larger numbers and infinities are ignored."""

TIER_FACTORS = {"flex": 0.5, "priority": 2.0}
"""Price factors of OpenAI's service tiers; other tiers have 1."""


def rates_for(prices: ModelCost, prompt_tokens: int) -> Rates:
    """Return the rates of a request: those of the highest tier whose threshold the prompt
    exceeds."""
    reached = [tier for tier in (prices.tiers or ()) if prompt_tokens > tier.input_tokens_above]
    return max(reached, key=lambda tier: tier.input_tokens_above) if reached else prices


def billed_cost(counts: Json) -> float | None:
    """Return the dollars that the provider bills according to the usage of a response.

    OpenRouter reports them. With the user's own key at another provider it bills only a fee, and
    reports beside it what that provider bills.
    """
    cost = _dollars(counts.get("cost"))
    details = counts.get("cost_details")
    upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    if counts.get("is_byok", not cost) and (other := _dollars(upstream)) is not None:
        return (cost or 0) + other
    return cost


def _dollars(value: object) -> float | None:
    """Return ``value`` if it is a plausible amount, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < HIGHEST_COST else None


def priced(
    usage: Usage,
    prices: ModelCost,
    *,
    factor: float = 1.0,
    charged: float | None = None,
    billed: bool = True,
) -> Usage:
    """Return ``usage`` with its total and its cost.

    ``factor`` is the service tier's; ``charged`` is a total that the server reported itself, and
    ``billed`` whether that is the amount on the bill. Usage that was not reported has neither
    ``reasoning`` nor ``total_from_provider``.
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
    tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
    is_reported = bool(usage.total_tokens or tokens or charged is not None)
    return replace(
        usage,
        reasoning=usage.reasoning or 0 if is_reported else usage.reasoning,
        total_tokens=usage.total_tokens or tokens,
        cost=replace(
            cost,
            total=total if charged is None else charged,
            total_from_provider=charged is not None and billed if is_reported else UNSET,
        ),
    )
