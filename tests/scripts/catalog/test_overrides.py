from __future__ import annotations

import msgspec
import pytest

from pi.ai.models.catalog import bundled_models, bundled_providers
from pi.ai.models.model import Model
from scripts.catalog.generate import OVERRIDES, read_json
from scripts.catalog.overrides import catalog_entries, quirks_of

FREE = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
FACTS = {"id": "m", "name": "M", "contextWindow": 10, "maxTokens": 5}


def test_defaults_apply_to_every_model_and_overrides_to_one() -> None:
    overrides = {
        "p": {
            "default": {"api": "openai-completions", "baseUrl": "https://p", "compat": {"a": 1}},
            "models": {"n": {"compat": None, "contextWindow": 7}},
        }
    }

    entries = catalog_entries({"p": {"n": {**FACTS, "id": "n"}, "m": FACTS}}, overrides)

    assert entries == {
        "p": [
            {
                "id": "m",
                "name": "M",
                "api": "openai-completions",
                "provider": "p",
                "baseUrl": "https://p",
                "cost": FREE,
                "contextWindow": 10,
                "maxTokens": 5,
                "compat": {"a": 1},
            },
            {
                "id": "n",
                "name": "M",
                "api": "openai-completions",
                "provider": "p",
                "baseUrl": "https://p",
                "cost": FREE,
                "contextWindow": 7,
                "maxTokens": 5,
            },
        ]
    }


def test_a_model_without_an_api_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"p/m: .*`api`"):
        catalog_entries({"p": {"m": FACTS}}, {})


def test_quirks_applied_to_bare_facts_restore_the_bundled_models() -> None:
    complete = {
        provider: {model.id: msgspec.to_builtins(model) for model in bundled_models(provider)}
        for provider in bundled_providers()
    }
    quirks = quirks_of(complete)
    bare = {
        provider: {
            name: {
                key: facts[key]
                for key in (
                    "id",
                    "name",
                    "reasoning",
                    "input",
                    "cost",
                    "contextWindow",
                    "maxTokens",
                )
            }
            for name, facts in models.items()
        }
        for provider, models in complete.items()
    }

    for provider, entries in catalog_entries(bare, quirks).items():
        rebuilt = {entry["id"]: msgspec.convert(entry, Model) for entry in entries}
        assert rebuilt == {model.id: model for model in bundled_models(provider)}


def test_the_committed_overrides_cover_every_provider_of_the_catalog() -> None:
    overrides = read_json(OVERRIDES)

    assert sorted(overrides) == list(bundled_providers())
    assert all(override["default"].get("api") for override in overrides.values())


def test_a_model_without_an_output_limit_gets_a_cautious_one() -> None:
    overrides = {"p": {"default": {"api": "openai-completions"}}}
    facts = {"id": "m", "name": "M", "contextWindow": 1_000_000}

    [entry] = catalog_entries({"p": {"m": facts}}, overrides)["p"]

    assert entry["maxTokens"] == 16_384
