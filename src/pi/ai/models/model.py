"""A model: who serves it, which wire it speaks, what it can do and what it costs."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.ai.messages import Json
from pi.base.records import UNSET, Record, UnsetType

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
    """Rates of a whole request whose input is longer than ``input_tokens_above``."""

    input_tokens_above: int


class ModelCost(Rates):
    """A model's prices."""

    tiers: tuple[PriceTier, ...] | UnsetType = UNSET


class ImageResize(Record):
    """The largest picture that is sent; larger ones are scaled down first."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    """Of the base64 text."""
    jpeg_quality: int = 80


class ImageLimits(Record):
    """How pictures must be sent to a model."""

    resize: ImageResize | UnsetType = UNSET
    max_per_message: int | UnsetType = UNSET
    max_per_request: int | UnsetType = UNSET


class InputLimits(Record):
    """What a request may carry."""

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
    """The provider's word for a level; ``None`` where it does not offer the level."""
    input: tuple[Literal["text", "image"], ...] = ("text",)
    input_limits: InputLimits | UnsetType = UNSET
    cost: ModelCost = ModelCost()
    prompt_cache: PromptCache | UnsetType = UNSET
    context_window: int = 128_000
    max_tokens: int = 16_384
    sampling_params: Json | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    compat: Json | UnsetType = UNSET
    """Quirks of the server; each wire reads the flags that it knows."""

    @property
    def sees_images(self) -> bool:
        """Whether pictures may be part of a request."""
        return "image" in self.input
