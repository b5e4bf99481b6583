from __future__ import annotations

from importlib.util import find_spec

import msgspec
import pytest

from pi.ai.auth.login_settings import (
    CLIENTS,
    NO_CLIENTS,
    LoginSettings,
    login_settings,
    with_host_overrides,
)
from pi.ai.errors import BadRequest
from pi.ai.provider import Provider
from pi.ai.providers.rows import BUILT_IN
from pi.base.records import replace

XAI = Provider(id="xai", name="xAI", login="xai", base_url="https://api.x.ai/v1")


def test_every_login_of_the_provider_table_has_a_row_and_a_module() -> None:
    named = {row.login for row in BUILT_IN if row.login}

    assert named == set(CLIENTS)
    assert all(find_spec(f"pi.ai.auth.logins.{name}") for name in named)


def test_login_settings_contain_the_base_url_of_the_provider() -> None:
    assert login_settings(XAI, {}) == replace(CLIENTS["xai"], base_url="https://api.x.ai/v1")


@pytest.mark.parametrize("name", ["xai", "other-id"])
def test_every_field_can_be_replaced_under_the_id_or_the_name_of_the_login(name: str) -> None:
    provider = replace(XAI, id="other-id")
    changes = msgspec.to_builtins(LoginSettings(client_id="mine", margin=7, base_url="https://b"))

    assert login_settings(provider, {name: changes}) == LoginSettings(
        client_id="mine", margin=7, base_url="https://b"
    )


def test_a_single_field_is_replaced_alone() -> None:
    changed = login_settings(XAI, {"xai": {"clientId": "mine"}})

    assert changed == replace(login_settings(XAI, {}), client_id="mine")


def test_an_invalid_value_raises_an_error_that_names_the_setting() -> None:
    with pytest.raises(BadRequest, match=r'"oauthClients" for xai cannot be used: .*clientId'):
        login_settings(XAI, {"xai": {"clientId": 5}})


def test_a_variable_sets_the_login_host_unless_the_setting_does() -> None:
    kimi = next(row for row in BUILT_IN if row.id == "kimi-coding")
    environ = {"KIMI_OAUTH_HOST": "no.example", "KIMI_CODE_OAUTH_HOST": "login.example/"}

    named = login_settings(kimi, with_host_overrides({}, environ))
    set_too = with_host_overrides({"kimi-coding": {"tokenUrl": "https://mine.example"}}, environ)

    assert (named.device_url, named.token_url) == (
        "https://login.example/api/oauth/device_authorization",
        "https://login.example/api/oauth/token",
    )
    assert login_settings(kimi, set_too).token_url == "https://mine.example"
    assert with_host_overrides(NO_CLIENTS, {}) is NO_CLIENTS
