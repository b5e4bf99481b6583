from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.config_values import used_secrets
from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.auth.resolve import Authentication
from pi.ai.auth.storage import AuthStorage
from pi.ai.errors import AuthenticationFailed
from pi.ai.http.client import HttpClient
from pi.ai.models.custom import CustomProvider
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import StreamOptions
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock

ROW = Provider(id="p", name="P", key_variables=("P_KEY",))
MODEL = Model(id="m", name="M", api="a", provider="p", headers={"X-Model": "$MODEL_SECRET"})
SERVICES = Services(http=HttpClient(environ={}), clock=FakeClock(), environ={})


def door(storage: AuthStorage, *custom: CustomProvider, **environ: str) -> Authentication:
    return Authentication(storage, environ=environ, cwd=Path(), custom=custom)


async def key(auth: Authentication, options: StreamOptions | None = None) -> str | None:
    access = await auth.access(ROW, None, options or StreamOptions(), SERVICES)
    return access.api_key if access else None


async def test_more_specific_credentials_have_priority() -> None:
    storage = AuthStorage()
    configured = CustomProvider(id="p", api_key="configured")

    assert await key(door(storage)) is None
    assert await key(door(storage, P_KEY="env")) == "env"
    assert await key(door(storage, configured, P_KEY="env")) == "configured"
    await storage.set("p", ApiKeyCredential(key="stored"))
    assert await key(door(storage, configured, P_KEY="env")) == "stored"
    assert await key(door(storage, configured), StreamOptions(api_key="given")) == "given"
    assert used_secrets() == ("env", "configured", "stored", "given")


async def test_environment_variables_of_a_request_are_used_for_its_key() -> None:
    assert await key(door(AuthStorage()), StreamOptions(env={"P_KEY": "once"})) == "once"


async def test_configured_headers_are_looked_up_when_a_request_is_made() -> None:
    custom = CustomProvider(id="p", api_key="k", headers={"X-Team": "team-${TEAM}"})
    auth = door(AuthStorage(), custom, TEAM="blue", MODEL_SECRET="s")

    access = await auth.access(ROW, MODEL, StreamOptions(), SERVICES)

    assert access is not None
    assert access.headers == {"X-Team": "team-blue", "X-Model": "s"}


async def test_a_header_without_a_value_raises_an_error_with_its_name() -> None:
    custom = CustomProvider(id="p", api_key="k", headers={"X-Team": "$TEAM"})

    with pytest.raises(AuthenticationFailed, match=r"header X-Team of P in models\.json"):
        await door(AuthStorage(), custom).access(ROW, None, StreamOptions(), SERVICES)


async def test_is_configured_is_true_if_a_key_can_be_resolved() -> None:
    storage = AuthStorage()

    assert not door(storage).is_configured(ROW)
    assert door(storage, P_KEY="env").is_configured(ROW)
    assert door(storage, CustomProvider(id="p", api_key="$SET"), SET="x").is_configured(ROW)
    assert not door(storage, CustomProvider(id="p", api_key="$UNSET")).is_configured(ROW)
