from __future__ import annotations

import pytest

from pi.ai.auth.anthropic_gateway import (
    FOUNDRY_KEY,
    uses_foundry,
    with_gateway_key,
    with_gateway_url,
)
from pi.ai.models.custom import CustomProvider
from pi.ai.provider import Provider

ROW = Provider(id="anthropic", name="Anthropic", token_variables=("ANTHROPIC_AUTH_TOKEN",))
HEADERS = "X-Team: blue, X-List: a, b\nX-Price: 5$"
PARSED = {"X-Team": "blue", "X-List": "a, b", "X-Price": "5$$"}


def test_unset_gateway_variables_change_nothing() -> None:
    own = CustomProvider(id="anthropic", base_url="https://mine.example")

    assert with_gateway_url(None, {}) is None
    assert with_gateway_url(own, {"ANTHROPIC_CUSTOM_HEADERS": HEADERS}) is own
    assert with_gateway_key(ROW, {"CLAUDE_CODE_USE_FOUNDRY": "0", FOUNDRY_KEY: "k"}) is ROW


@pytest.mark.parametrize("address", ["https://gate.example", "https://gate.example/v1/"])
def test_a_gateway_url_gets_the_custom_headers(address: str) -> None:
    environ = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_CUSTOM_HEADERS": HEADERS}

    assert with_gateway_url(None, environ) == CustomProvider(
        id="anthropic", base_url="https://gate.example", headers=PARSED
    )


@pytest.mark.parametrize("address", ["https://api.anthropic.com", "https://eu.anthropic.com/v1"])
def test_anthropic_itself_gets_no_gateway_headers(address: str) -> None:
    environ = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_CUSTOM_HEADERS": HEADERS}

    changed = with_gateway_url(None, environ)

    assert changed is not None
    assert (changed.base_url, changed.headers) == (address.removesuffix("/v1"), {})


@pytest.mark.parametrize("on", ["1", "true", "YES", "on"])
def test_foundry_has_its_own_address_and_key(on: str) -> None:
    environ = {
        "CLAUDE_CODE_USE_FOUNDRY": on,
        "FOUNDRY_BASE_URL": "https://foundry.example/anthropic/",
        "ANTHROPIC_BASE_URL": "https://gate.example",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue",
    }

    assert uses_foundry(environ)
    assert with_gateway_key(ROW, environ).token_variables == (FOUNDRY_KEY, "ANTHROPIC_AUTH_TOKEN")
    assert with_gateway_url(None, environ) == CustomProvider(
        id="anthropic",
        base_url="https://foundry.example/anthropic",
        headers={"X-Team": "blue"},
    )


def test_models_json_has_priority_over_the_gateway_variables() -> None:
    own = CustomProvider(
        id="anthropic", base_url="https://mine.example", headers={"X-Team": "red"}, api_key="k"
    )
    environ = {
        "ANTHROPIC_BASE_URL": "https://gate.example",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue, X-More: 1",
    }

    assert with_gateway_url(own, environ) == CustomProvider(
        id="anthropic",
        base_url="https://mine.example",
        headers={"X-Team": "red", "X-More": "1"},
        api_key="k",
    )
