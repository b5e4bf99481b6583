from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.models.catalog import bundled_at
from pi.ai.models.model import Model, ModelCost, PriceTier
from pi.ai.models.updated_catalog import UpdatedCatalog
from pi.ai.models.updates import ModelFacts, differing, updated

NOW = bundled_at() + 1
MODEL = Model(
    id="gpt-6-sol",
    name="GPT 6",
    api="openai-responses",
    provider="openai",
    base_url="https://api.openai.com/v1",
    headers={"X": "y"},
    compat={"supportsStrictMode": True},
    context_window=1000,
    max_tokens=500,
    cost=ModelCost(input=1, output=2, tiers=(PriceTier(input_tokens_above=5, input=3),)),
)
OTHER = Model(id="codex-1", name="C", api="openai-completions", provider="openai", base_url="b")


def facts(**stated: Any) -> ModelFacts:
    return msgspec.convert(stated, ModelFacts)


def catalog(folder: Path, **content: Any) -> UpdatedCatalog:
    path = folder / "models-update.json"
    path.write_text(json.dumps(content))
    return UpdatedCatalog(path)


def test_limits_prices_and_abilities_change_and_nothing_else() -> None:
    stated = facts(
        name="Six",
        contextWindow=2000,
        maxTokens=900,
        reasoning=True,
        input=["text", "image"],
        cost={"input": 5},
        api="pi-messages",
        baseUrl="https://evil.example",
        headers={"X": "z"},
        compat={},
        provider="other",
        id="other",
    )

    [model] = updated((MODEL,), [{"gpt-6-sol": stated}])

    assert model == msgspec.structs.replace(
        MODEL,
        name="Six",
        context_window=2000,
        max_tokens=900,
        reasoning=True,
        input=("text", "image"),
        cost=msgspec.structs.replace(MODEL.cost, input=5.0),
    )


def test_the_first_source_that_states_something_counts() -> None:
    first = {"gpt-6-sol": facts(contextWindow=2000)}
    second = {"gpt-6-sol": facts(contextWindow=3000, maxTokens=700)}

    [model] = updated((MODEL,), [first, second])

    assert (model.context_window, model.max_tokens) == (2000, 700)


def test_a_new_model_is_reached_like_the_one_with_the_most_similar_id() -> None:
    _, _, new = updated((OTHER, MODEL), [{"gpt-6.1-sol": facts(contextWindow=4000)}])

    assert new == msgspec.structs.replace(
        MODEL, id="gpt-6.1-sol", name="gpt-6.1-sol", context_window=4000, cost=ModelCost()
    )


def test_a_provider_without_models_gets_none() -> None:
    assert updated((), [{"x": facts(contextWindow=1)}]) == ()


def test_an_answer_never_exceeds_the_window() -> None:
    [model] = updated((MODEL,), [{"gpt-6-sol": facts(contextWindow=100)}])

    assert model.max_tokens == 100


def test_tiers_take_rates_that_they_do_not_state_from_the_model() -> None:
    tier = {"inputTokensAbove": 9, "input": 4}

    [model] = updated((MODEL,), [{"gpt-6-sol": facts(cost={"tiers": [tier]})}])

    assert model.cost.tiers == (PriceTier(input_tokens_above=9, input=4, output=2),)


@pytest.mark.parametrize(
    "stated",
    [
        {"contextWindow": 0},
        {"contextWindow": 1.5},
        {"contextWindow": 10**9},
        {"maxTokens": -1},
        {"cost": {"input": -1}},
        {"cost": {"output": 1e9}},
        {"cost": {"tiers": [{"input": 1}]}},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"input": ["sound"]},
    ],
)
def test_facts_out_of_range_are_invalid(stated: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        facts(**stated)


def test_only_facts_that_change_something_are_kept() -> None:
    same, other, new = facts(contextWindow=1000), facts(maxTokens=1), facts()

    assert differing((MODEL,), {"gpt-6-sol": same}) == {}
    assert differing((MODEL,), {"gpt-6-sol": other, "new": new}) == {
        "gpt-6-sol": other,
        "new": new,
    }


def test_the_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    source = {"name": "s", "checkedAt": NOW}
    stated = {"source": "s", "models": {"gpt-6-sol": {"contextWindow": 77}}}
    models = catalog(tmp_path, sources=[source], providers={"openai": [stated]})

    assert models.models("openai", (MODEL,))[0].context_window == 77
    assert models.models("google", (MODEL,)) == (MODEL,)
    assert (models.checked_at, models.is_updated) == (NOW, True)
    (tmp_path / "models-update.json").unlink()
    assert models.models("openai", (MODEL,)) == (MODEL,)
    assert (models.checked_at, models.is_updated) == (bundled_at(), False)


def test_facts_older_than_the_bundled_catalog_are_ignored(tmp_path: Path) -> None:
    sources = [{"name": "old", "checkedAt": bundled_at() - 1}, {"name": "new", "checkedAt": NOW}]
    stated = [
        {"source": "old", "models": {"gpt-6-sol": {"contextWindow": 77, "maxTokens": 7}}},
        {"source": "new", "models": {"gpt-6-sol": {"contextWindow": 88}}},
        {"source": "gone", "models": {"gpt-6-sol": {"contextWindow": 99}}},
    ]
    models = catalog(tmp_path, sources=sources, providers={"openai": stated})

    [model] = models.models("openai", (MODEL,))

    assert (model.context_window, model.max_tokens) == (88, 88)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"providers": 7}', b'{"providers": {"openai": [{"models": {"m": 1}}]}}'],
)
def test_an_unreadable_file_changes_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "models-update.json"
    path.write_bytes(content)

    assert UpdatedCatalog(path).models("openai", (MODEL,)) == (MODEL,)
