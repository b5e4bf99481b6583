from __future__ import annotations

import json

import pytest

from pi.ai.models.catalog import bundled_models
from pi.ai.models.custom import CustomModels, CustomProvider, customised, read_custom_models
from pi.ai.models.model import Model, ModelCost
from pi.base.records import replace

BUNDLED = (
    Model(
        id="a",
        name="A",
        api="openai-completions",
        provider="p",
        base_url="https://p.test",
        cost=ModelCost(input=1, output=2),
        compat={"supportsStore": False},
    ),
)


def read(providers: object) -> CustomModels:
    return read_custom_models(json.dumps({"providers": providers}), "/x/models.json", {"p"})


def only(providers: object) -> CustomProvider:
    read_in = read(providers)
    assert read_in.problems == ()
    return read_in.providers[0]


def test_the_models_of_a_custom_provider_need_only_ids() -> None:
    custom = only(
        {
            "mine": {
                "baseUrl": "http://127.0.0.1:1234/v1",
                "api": "openai-completions",
                "apiKey": "$MY_KEY",
                "models": [
                    {"id": "m", "contextWindow": 1e6},
                    {"id": "n", "name": "N", "input": ["text", "image"]},
                ],
            }
        }
    )

    assert custom.api_key == "$MY_KEY"
    assert customised(custom, ()) == (
        Model(
            id="m",
            name="m",
            api="openai-completions",
            provider="mine",
            base_url="http://127.0.0.1:1234/v1",
            context_window=1_000_000,
        ),
        Model(
            id="n",
            name="N",
            api="openai-completions",
            provider="mine",
            base_url="http://127.0.0.1:1234/v1",
            input=("text", "image"),
        ),
    )


def test_models_of_a_built_in_provider_can_be_added_replaced_or_overridden() -> None:
    custom = only(
        {
            "p": {
                "models": [{"id": "b"}],
                "modelOverrides": {
                    "a": {"cost": {"output": 9}, "compat": {"x": 1}, "contextWindow": 5},
                    "gone": {"name": "ignored"},
                },
            }
        }
    )

    changed, added = customised(custom, BUNDLED)

    assert changed == replace(
        BUNDLED[0],
        cost=ModelCost(input=1, output=9),
        compat={"supportsStore": False, "x": 1},
        context_window=5,
    )
    assert (added.id, added.api, added.base_url) == ("b", "openai-completions", "https://p.test")


def test_a_base_url_alone_retargets_every_model() -> None:
    custom = only({"p": {"baseUrl": "http://proxy.test"}})

    assert customised(custom, BUNDLED) == (replace(BUNDLED[0], base_url="http://proxy.test"),)


@pytest.mark.behaviour("broken-models-config")
@pytest.mark.parametrize(
    ("providers", "fault"),
    [
        (
            {"p": {"models": [{"id": "x", "contextWindow": "big"}]}},
            "providers.p.models.0.contextWindow: must be number",
        ),
        ({"p": {"models": [{"name": "x"}]}}, "providers.p.models.0.id: must be string"),
        ({"p": {"headers": []}}, "providers.p.headers: must be object"),
        ({"p": {"headers": {"X-A": 1}}}, "providers.p.headers.X-A: must be string"),
        ({"p": {"apiKey": ""}}, "providers.p.apiKey: must not be empty"),
        ({"p": 7}, "providers.p: must be object"),
        ([], "providers: must be object"),
    ],
)
def test_a_file_that_breaks_the_schema_is_reported_with_file_and_reason(
    providers: object, fault: str
) -> None:
    assert read(providers) == CustomModels(
        problems=(f"Invalid models.json schema:\n  - {fault}\n\nFile: /x/models.json",)
    )


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({}, "must have at least one of baseUrl, headers, compat, modelOverrides, models."),
        (
            {"baseUrl": "http://x", "models": [{"id": "m"}]},
            'model "m" needs an "api", of its own or of the provider.',
        ),
        (
            {"api": "openai-completions", "models": [{"id": "m"}]},
            'model "m" needs a "baseUrl", of its own or of the provider.',
        ),
    ],
)
def test_an_invalid_provider_is_reported_and_the_others_are_kept(raw: object, fault: str) -> None:
    read_in = read({"mine": raw, "p": {"baseUrl": "http://x"}})

    assert read_in.problems == (f'Provider "mine": {fault}',)
    assert [provider.id for provider in read_in.providers] == ["p"]


def test_an_invalid_json_file_is_reported() -> None:
    problems = read_custom_models("{nope", "/x/models.json", ()).problems

    assert problems[0].startswith("Failed to parse models.json: ")
    assert problems[0].endswith("File: /x/models.json")


def test_every_bundled_model_survives_an_empty_override() -> None:
    for model in bundled_models("anthropic"):
        custom = CustomProvider(id="anthropic", overrides={model.id: {}})
        assert customised(custom, (model,)) == (model,)


def test_a_wrong_value_of_a_known_flag_discards_the_file() -> None:
    wrong = {
        "supportsStore": "yes",
        "promptCacheKeyMode": "sometimes",
        "vllmPriority": True,
        "chatTemplateArgs": [],
        "ownFlag": 7,
        "supportsToolSearch": None,
    }
    model = {"id": "m", "contextWindow": 0, "maxTokens": -1, "compat": {"zaiToolStream": 1}}

    [problem] = read({"p": {"compat": wrong, "models": [model], "oauth": "x"}}).problems

    assert problem.splitlines()[1:-2] == [
        "  - providers.p.oauth: must be one of radius",
        "  - providers.p.compat.supportsStore: must be boolean",
        "  - providers.p.compat.promptCacheKeyMode: must be one of auto, enabled, disabled",
        "  - providers.p.compat.vllmPriority: must be number",
        "  - providers.p.compat.chatTemplateArgs: must be object",
        "  - providers.p.models.0.contextWindow: must be > 0",
        "  - providers.p.models.0.maxTokens: must be > 0",
        "  - providers.p.models.0.compat.zaiToolStream: must be boolean",
    ]


def test_fields_that_nothing_reads_are_reported() -> None:
    document = {
        "$schema": "x",
        "mine": 1,
        "providers": {
            "p": {
                "baseURL": "https://x",
                "compat": {"supportsToolSearch": True, "supportsStore": True},
                "models": [{"id": "m", "contextwindow": 5, "compat": {"imageInput": "assets"}}],
                "modelOverrides": {"a": {"cost": {"input": 1}, "cots": {}}},
            }
        },
    }

    custom = read_custom_models(json.dumps(document), "/x/models.json", {"p"})

    assert custom.problems == ()
    assert custom.unused == (
        "mine",
        "providers.p.baseURL",
        "providers.p.compat.supportsToolSearch",
        "providers.p.models.0.contextwindow",
        "providers.p.models.0.compat.imageInput",
        "providers.p.modelOverrides.a.cots",
    )


def test_parameters_by_level_are_read_and_their_levels_checked() -> None:
    by_level = {"high": {"top_p": 0.9}}
    custom = only({"p": {"modelOverrides": {"a": {"samplingParamsByThinkingLevel": by_level}}}})
    [problem] = read(
        {"p": {"models": [{"id": "m", "samplingParamsByThinkingLevel": {"huge": {}}}]}}
    ).problems

    assert customised(custom, BUNDLED)[0].sampling_params_by_thinking_level == by_level
    assert "providers.p.models.0: Invalid enum value 'huge'" in problem
