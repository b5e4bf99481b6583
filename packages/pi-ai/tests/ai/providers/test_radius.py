from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.models.custom import CustomProvider
from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore
from pi.ai.provider import Provider
from pi.ai.providers.wire_provider import GatewayProvider, openai_models
from pi.ai.request import Access
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.loopback import site

ROW = Provider(id="radius", name="Radius")


async def listed(answer: Any, folder: Path) -> tuple[Model, ...]:
    async with site({"/v1/models": answer}) as server, HttpClient(environ={}) as http:
        row = replace(ROW, base_url=f"{server.url}/v1")
        provider = GatewayProvider(row, ModelsStore(folder / "models-store.json"))
        services = Services(http=http, clock=FakeClock(), environ={})
        await provider.refresh(services, None)
        assert provider.models() == ()
        await provider.refresh(services, Access(api_key="k"))
        assert server.asked[0][2]["authorization"] == "Bearer k"
        return tuple(replace(model, base_url="") for model in provider.models())


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"data": m}, lambda m: {"models": m}])
async def test_the_model_list_of_the_gateway_is_read(wrap: Any, tmp_path: Path) -> None:
    entries = [{"id": "balanced", "contextWindow": 5000}, {"id": "odd", "cost": "?"}, {}, 7]

    assert await listed(wrap(entries), tmp_path) == (
        Model(
            id="balanced",
            name="balanced",
            api="pi-messages",
            provider="radius",
            context_window=5000,
        ),
    )


async def test_a_gateway_that_fails_to_list_its_models_raises(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="Radius did not give its list of models"):
        await listed((500, {}), tmp_path)


async def test_the_model_list_of_a_gateway_is_stored_for_its_address(tmp_path: Path) -> None:
    await listed([{"id": "balanced"}], tmp_path)
    store = ModelsStore(tmp_path / "models-store.json")
    (kept,) = store.read("radius")

    again = GatewayProvider(replace(ROW, base_url=kept.base_url), store)
    other = GatewayProvider(replace(ROW, base_url="https://radius.example/v1"), store)

    assert again.models() == (kept,)
    assert other.models() == ()


def test_configured_models_and_overrides_are_applied_to_the_list_of_a_gateway(
    tmp_path: Path,
) -> None:
    base = "https://radius.example/v1"
    store = ModelsStore(tmp_path / "models-store.json")
    found = Model(id="a", name="a", api="pi-messages", provider="radius", base_url=base)
    store.write("radius", (found,), checked_at=0)
    own = CustomProvider(
        id="radius",
        base_url="https://radius.example",
        models=({"id": "mine"},),
        overrides={"a": {"contextWindow": 7}},
    )

    models = GatewayProvider(replace(ROW, base_url=base), store, own=own).models()

    assert models == (replace(found, context_window=7), replace(found, id="mine", name="mine"))


# Lists as OpenAI's API has them -------------------------------------------------------------------


def test_text_models_are_read_from_a_list_in_the_openai_format() -> None:
    answer = {
        "data": [
            {"id": "a", "type": "text", "context_length": 200_000, "max_output_tokens": 9000},
            {"id": "small", "max_model_len": 4096},
            {"id": "plain", "object": "model"},
            {"id": "painter", "type": "image"},
            {"id": 7},
            "odd",
        ]
    }

    models = openai_models(answer, "https://api.example/v1", "venice")

    assert [(m.id, m.context_window, m.max_tokens) for m in models] == [
        ("a", 200_000, 9000),
        ("small", 4096, 4096),
        ("plain", 128_000, 16_384),
    ]
    assert {(m.api, m.provider, m.base_url) for m in models} == {
        ("openai-completions", "venice", "https://api.example/v1")
    }


@pytest.mark.parametrize("answer", [None, {}, {"data": {}}, [], "text"])
def test_a_response_without_a_list_has_no_models(answer: Any) -> None:
    assert openai_models(answer, "https://api.example/v1", "venice") == ()
