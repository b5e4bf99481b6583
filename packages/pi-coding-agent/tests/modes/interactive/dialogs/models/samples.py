"""Models and a session that knows them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pi.ai.models.model import Model
from pi.ai.models.updated_catalog import UpdatedCatalog
from pi.ai.providers.chosen_servers import ServerStatus
from pi.coding.models.registry import ResolvedModel
from pi.coding.port.results import ModelNotes
from pi.coding.port.session import SessionPort
from pi.coding.settings.settings import Settings
from tests.modes.interactive.fake_screen import FakeScreen


def model(name: str, **more: Any) -> Model:
    provider, id = name.split("/")
    return Model(id=id, name=id.title(), api="x", provider=provider, **more)


SONNET = model("anthropic/sonnet-4-6", reasoning=True, context_window=1_000_000)
HAIKU = model("anthropic/haiku-4-5", input=("text", "image"), context_window=200_000)
GPT = model("openai/gpt-6")
GROK = model("xai/grok-5")


LLAMA = model("ollama/llama")


def screen_with(
    tmp_path: Path,
    *,
    scope: tuple[Model, ...] = (),
    served: tuple[Model, ...] = (),
    offered: tuple[Model, ...] = (),
    found: tuple[ServerStatus, ...] = (),
    catalog: UpdatedCatalog | None = None,
) -> FakeScreen:
    """A session with credentials for all models but one; ``served`` models are discovered."""

    async def discover() -> None:
        registry.get_all = lambda: (SONNET, HAIKU, GPT, GROK, *served, *offered)
        registry.get_available = lambda: (SONNET, HAIKU, GPT, *served)

    registry = SimpleNamespace(
        get_all=lambda: (SONNET, HAIKU, GPT, GROK, *offered),
        get_available=lambda: (SONNET, HAIKU, GPT),
        get_offered=lambda: (SONNET, HAIKU, GPT, *offered),
        not_chosen=lambda: found,
        models=SimpleNamespace(catalog=catalog),
    )
    models = SimpleNamespace(
        discover=discover,
        registry=registry,
        current=HAIKU,
        scope=tuple(ResolvedModel(model=model) for model in scope),
        thinking_level="low",
        notes=ModelNotes(),
        levels=lambda: ("off", "low", "high"),
    )
    settings = Settings.in_memory({"defaultProvider": "openai", "defaultModel": "gpt-6"})
    port = SimpleNamespace(models=models, settings=settings)
    return FakeScreen(tmp_path, cast("SessionPort", port))
