from __future__ import annotations

from pathlib import Path

from pi.ai.factory import create_models
from pi.ai.models.catalog import bundled_models, bundled_providers
from pi.ai.providers.rows import BUILT_IN
from pi.coding.models.registry import ModelRegistry, ResolvedModel, full_name


def test_every_model_of_the_catalog_is_resolved_by_its_full_name() -> None:
    registry = ModelRegistry(create_models(environ={}, folder=Path("/nowhere")))

    other = [
        full_name(model)
        for provider in bundled_providers()
        for model in bundled_models(provider)
        if registry.resolve(full_name(model)) != ResolvedModel(model=model)
    ]

    assert other == []


def test_the_default_of_a_provider_is_the_model_of_its_row() -> None:
    registry = ModelRegistry(create_models(environ={}, folder=Path("/nowhere")))

    defaults = {row.id: registry.default_of(row.id) for row in BUILT_IN if row.default_model}

    assert {provider: model.id if model else None for provider, model in defaults.items()} == {
        row.id: row.default_model for row in BUILT_IN if row.default_model
    }


def test_a_provider_is_found_by_its_former_id() -> None:
    registry = ModelRegistry(create_models(environ={}, folder=Path("/nowhere")))

    model = registry.find("azure-openai-responses", "gpt-5.4")

    assert model is not None
    assert model.provider == "azure"
