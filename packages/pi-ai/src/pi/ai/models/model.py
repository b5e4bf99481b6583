"""Model records: wire, limits, thinking levels, prices."""

# Without `from __future__ import annotations`: every start decodes models, and msgspec
# has to compile each annotation that is a string.

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.messages import Cost, Json, Usage
from pi.base.records import Record, replace

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = (
    "off",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
)


class Rates(Record):
    """US dollars per million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class PriceTier(Rates):
    """Rates of a whole request whose input exceeds ``input_tokens_above``."""

    input_tokens_above: int


class ModelCost(Rates):
    """A model's prices."""

    tiers: tuple[PriceTier, ...] | UnsetType = UNSET


class ImageResize(Record):
    """The maximum size of a picture; larger ones are scaled down first."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    """Of the base64 text."""
    jpeg_quality: int = 80


class ImageLimits(Record):
    """Limits of pictures in requests to a model."""

    resize: ImageResize | UnsetType = UNSET
    max_per_message: int | UnsetType = UNSET
    max_per_request: int | UnsetType = UNSET


class InputLimits(Record):
    """Limits of a request."""

    max_request_bytes: int | UnsetType = UNSET
    images: ImageLimits | UnsetType = UNSET


class PromptCache(Record):
    """How long the provider keeps a cached prompt, in seconds."""

    short: int | UnsetType = UNSET
    long: int | UnsetType = UNSET


class Model(Record):
    """One model of one provider."""

    id: str
    name: str
    api: str
    """The wire protocol, e.g. ``anthropic-messages``."""
    provider: str
    base_url: str = ""
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] | UnsetType = UNSET
    """The provider's name for a level; ``None`` if it does not offer the level."""
    input: tuple[Literal["text", "image"], ...] = ("text",)
    input_limits: InputLimits | UnsetType = UNSET
    cost: ModelCost = ModelCost()
    prompt_cache: PromptCache | UnsetType = UNSET
    context_window: int = 128_000
    max_tokens: int = 16_384
    sampling_params: Json | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    compat: Json | UnsetType = UNSET
    """Compat flags of the server; each wire reads the flags that it supports."""

    @property
    def sees_images(self) -> bool:
        """Whether pictures may be part of a request."""
        return "image" in self.input


HIDDEN = "***"
"""Stands for a credential in output."""
_USER = r"(?<=://)[^/?#]*@"
_QUERY_VALUE = r"(?<==)[^&#]+"


def without_credentials(model: Model) -> Model:
    """Return ``model`` for output to other programs: its address and headers may hold secrets."""
    start, mark, query = model.base_url.partition("?")
    address = re.sub(_USER, f"{HIDDEN}@", start) + mark + re.sub(_QUERY_VALUE, HIDDEN, query)
    headers = model.headers
    if isinstance(headers, dict):
        headers = dict.fromkeys(headers, HIDDEN)
    return replace(model, base_url=address, headers=headers)


# Thinking levels ----------------------------------------------------------------------------------


BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
"""Thinking tokens per level, for wires that take a number."""

ROOM_TO_ANSWER = 1024
"""Output tokens that are reserved for text."""


def supported_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """Return the levels that the user may choose for ``model``, in rising order."""
    if not model.reasoning:
        return ("off",)
    level_map = {} if model.thinking_level_map is UNSET else model.thinking_level_map
    assert isinstance(level_map, dict)
    return tuple(
        level
        for level in THINKING_LEVELS
        if (
            level_map.get(level) is not None
            if level in ("xhigh", "max")
            else level_map.get(level, level)
        )
    )


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """Return ``level`` if the model supports it, else the next one above, else the next below."""
    supported = supported_levels(model)
    rank = THINKING_LEVELS.index(level)
    above = [choice for choice in supported if THINKING_LEVELS.index(choice) >= rank]
    return above[0] if above else supported[-1] if supported else "off"


def level_word(model: Model, level: ThinkingLevel) -> str:
    """Return the provider's own name for ``level``."""
    if isinstance(model.thinking_level_map, dict):
        return model.thinking_level_map.get(level) or level
    return level


def thinking_budget(
    level: ThinkingLevel, max_tokens: int, budgets: Mapping[str, int] | None = None
) -> int:
    """Return the thinking tokens for ``level`` that leave room for text within ``max_tokens``."""
    by_level = {**BUDGETS, **(budgets or {})}
    budget = by_level.get(level, by_level["high"])
    return max(min(budget, max_tokens - ROOM_TO_ANSWER), 0)


# Prices -------------------------------------------------------------------------------------------


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
