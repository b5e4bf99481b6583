from __future__ import annotations

from typing import Any

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.ai.exchange import Services
from pi.ai.http.client import HttpClient
from pi.ai.models.model import Model
from pi.ai.providers.provider import Provider
from pi.ai.providers.radius import GatewayProvider
from pi.ai.request import Access
from pi.base.records import replace
from pi.testing import FakeClock
from tests.ai.loopback import site

ROW = Provider(id="radius", name="Radius")


async def listed(answer: Any) -> tuple[Model, ...]:
    async with site({"/v1/models": answer}) as server, HttpClient(environ={}) as http:
        provider = GatewayProvider(replace(ROW, base_url=f"{server.url}/v1"))
        services = Services(http=http, clock=FakeClock(), environ={})
        await provider.refresh(services, None)
        assert provider.models() == ()
        await provider.refresh(services, Access(api_key="k"))
        assert server.asked[0][2]["authorization"] == "Bearer k"
        return tuple(replace(model, base_url="") for model in provider.models())


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"data": m}, lambda m: {"models": m}])
async def test_the_gateways_list_becomes_models(wrap: Any) -> None:
    entries = [{"id": "balanced", "contextWindow": 5000}, {"id": "odd", "cost": "?"}, {}, 7]

    assert await listed(wrap(entries)) == (
        Model(
            id="balanced",
            name="balanced",
            api="pi-messages",
            provider="radius",
            context_window=5000,
        ),
    )


async def test_a_gateway_that_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(ProviderUnavailable, match="Radius did not give its list of models"):
        await listed((500, {}))
