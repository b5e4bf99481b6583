"""The bundled image models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.ai.images.formats import ImageModel
from pi.ai.models.model import ModelCost

if TYPE_CHECKING:
    pass


IMAGE_MODELS: tuple[ImageModel, ...] = (
    ImageModel(
        id="gpt-image-1",
        name="GPT Image 1",
        api="openai-images",
        provider="openai",
        base_url="https://api.openai.com/v1",
        input=("text", "image"),
        cost=ModelCost(input=5, output=40),
    ),
    ImageModel(
        id="gemini-2.5-flash-image",
        name="Gemini 2.5 Flash Image",
        api="google-images",
        provider="google",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        input=("text", "image"),
        cost=ModelCost(input=0.3, output=30),
    ),
    ImageModel(
        id="google/gemini-2.5-flash-image",
        name="Gemini 2.5 Flash Image (OpenRouter)",
        api="openrouter-images",
        provider="openrouter",
        base_url="https://openrouter.ai/api/v1",
        input=("text", "image"),
        cost=ModelCost(input=0.3, output=30),
    ),
)
