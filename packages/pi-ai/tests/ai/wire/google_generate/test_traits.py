from __future__ import annotations

import pytest

from pi.ai.models.model import Model
from pi.ai.wire.google_generate.compat import Compat, compat_of
from pi.base.records import replace

NEW = Compat(
    call_ids=True,
    images_in_results=True,
    checks_signatures=True,
    thinking_levels=True,
    thinking_budget=(0, 24_576),
    json_schema=True,
)
OLD = Compat(
    call_ids=False,
    images_in_results=False,
    checks_signatures=False,
    thinking_levels=False,
    thinking_budget=(0, 24_576),
    json_schema=True,
)


def model(model_id: str) -> Model:
    return Model(id=model_id, name=model_id, api="google-generative-ai", provider="google")


@pytest.mark.parametrize(
    ("model_id", "traits"),
    [
        ("gemini-3-flash-preview", NEW),
        ("gemini-3.8-flash", NEW),
        ("models/gemini-3-flash", NEW),
        ("gemini-flash-latest", NEW),
        ("gemini-4-ultra", NEW),
        ("gemini-3.1-pro-preview", replace(NEW, thinking_budget=(128, 32_768))),
        ("gemini-2.5-flash", OLD),
        ("Gemini-2.5-Flash-Lite", OLD),
        ("gemini-2.5-pro", replace(OLD, thinking_budget=(128, 32_768))),
        ("gemma-3-27b-it", OLD),
        ("proxied-model", replace(OLD, images_in_results=True)),
    ],
)
def test_capabilities_are_derived_from_the_model_id(model_id: str, traits: Compat) -> None:
    assert compat_of(model(model_id)) == traits


def test_a_thinking_level_map_enables_thinking_levels() -> None:
    gemma = replace(model("gemma-4-31b-it"), thinking_level_map={"off": None, "high": "HIGH"})

    assert compat_of(gemma) == replace(OLD, thinking_levels=True)


def test_a_flag_disables_json_schemas_for_tools() -> None:
    older = replace(model("gemini-3-flash"), compat={"supportsParametersJsonSchema": False})

    assert compat_of(older) == replace(NEW, json_schema=False)
