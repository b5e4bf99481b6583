"""A few models, and a registry in which some providers have credentials."""

from __future__ import annotations

from typing import cast

from pi.ai.collection import Models
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.records import replace
from pi.coding.models.registry import ModelRegistry


def model(provider: str, id: str, name: str = "", *, reasoning: bool = True) -> Model:
    return replace(FAUX_MODEL, provider=provider, id=id, name=name or id, reasoning=reasoning)


MODELS = (
    model("anthropic", "claude-sonnet-4-5-20250929", "Claude Sonnet 4.5"),
    model("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5"),
    model("anthropic", "claude-opus-4-6", "Claude Opus 4.6"),
    model("openai", "gpt-5", "GPT-5"),
    model("openai", "gpt-5-mini", "GPT-5 mini", reasoning=False),
    model("openrouter", "anthropic/claude-opus-4-6", "Claude Opus 4.6"),
    model("openrouter", "qwen/qwen3:free", "Qwen 3 (free)"),
    model("azure", "gpt-5", "GPT-5"),
    model("alpha", "llama-9"),
    model("beta", "llama-9"),
)


class FakeModels:
    """A fake of ``Models``: providers, models, and which providers have credentials."""

    def __init__(self, *usable: str) -> None:
        self._usable = usable

    def get_providers(self) -> tuple[Provider, ...]:
        names = dict.fromkeys(model.provider for model in MODELS)
        default = {"anthropic": "claude-opus-4-6", "openai": "gpt-5"}
        return tuple(
            Provider(id=name, name=name, default_model=default.get(name, "")) for name in names
        )

    def get_models(self, provider: str | None = None) -> tuple[Model, ...]:
        return tuple(model for model in MODELS if provider in (None, model.provider))

    def get_model(self, provider: str, model_id: str) -> Model | None:
        matches = (model for model in self.get_models(provider) if model.id == model_id)
        return next(matches, None)

    def get_provider(self, provider: str) -> None:
        """Return None: no provider is registered as an object."""

    def is_available(self, provider: str) -> bool:
        return provider in self._usable


def registry(*usable: str) -> ModelRegistry:
    """Look-ups over ``MODELS``; the named providers have credentials."""
    return ModelRegistry(cast("Models", FakeModels(*usable)))
