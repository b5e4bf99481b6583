"""Model records: wire, limits, prices."""

# Without `from __future__ import annotations`: every start decodes models, and msgspec
# has to compile each annotation that is a string.

import re
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.messages import Json
from pi.base.records import Record, replace


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


Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


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
    sampling_params_by_thinking_level: dict[Level, Json] | UnsetType = UNSET
    """Parameters of single levels; they take precedence over ``sampling_params``."""
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
