"""What is asked of a model that makes pictures, and what comes of it."""

from __future__ import annotations

from typing import Literal

from pi.ai.messages import Image, Json, Usage
from pi.ai.models.model import ModelCost
from pi.base.records import UNSET, Record, UnsetType


class ImageModel(Record):
    """A model that makes pictures."""

    id: str
    name: str
    api: str
    """``openai-images``, ``google-images`` or ``openrouter-images``."""
    provider: str
    base_url: str
    input: tuple[Literal["text", "image"], ...] = ("text",)
    """With ``image`` it can change pictures it is given."""
    cost: ModelCost = ModelCost()
    headers: dict[str, str] | UnsetType = UNSET


class ImageRequest(Record):
    """What to make."""

    prompt: str
    images: tuple[Image, ...] = ()
    """Pictures to start from."""
    count: int = 1
    size: str | None = None
    """``1024x1024`` or ``auto``."""
    aspect_ratio: str | None = None
    """``16:9``, for providers that think in ratios."""
    quality: str | None = None
    extra: Json | UnsetType = UNSET
    """Laid over the request body last."""


class ImageResult(Record):
    """What came of it; ``error_message`` says why there is nothing."""

    images: tuple[Image, ...] = ()
    text: str = ""
    """Words that came with the pictures."""
    usage: Usage = Usage()
    stop_reason: Literal["stop", "error", "aborted"] = "stop"
    error_message: str | UnsetType = UNSET
    provider: str = ""
    model: str = ""
    timestamp: int = 0
