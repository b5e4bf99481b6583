from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.mock_process import mock_server
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import Models
from pi.ai.factory import Network, create_images_models, create_models, make_services
from pi.ai.http.request import HttpRequest
from pi.ai.images.formats import ImageRequest
from pi.ai.messages import Context, UserMessage
from pi.ai.models.custom import read_custom_models
from pi.ai.providers.rows import BUILT_IN
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.loopback import site

HELLO = Context(messages=(UserMessage(content="hello"),))


def collection(
    tmp_path: Path, *, providers: Any = None, environ: Mapping[str, str] | None = None
) -> Models:
    text = json.dumps({"providers": providers or {}})
    custom = read_custom_models(text, "models.json", [row.id for row in BUILT_IN])
    assert custom.problems == ()
    return create_models(
        storage=AuthStorage(tmp_path / "auth.json"),
        environ=environ or {},
        clock=FakeClock(),
        cwd=tmp_path,
        folder=tmp_path,
        custom=custom,
    )


def test_without_keys_all_providers_are_listed_and_only_local_ones_are_available(
    tmp_path: Path,
) -> None:
    models = collection(tmp_path)

    ids = [row.id for row in models.get_providers()]
    assert ids[: len(BUILT_IN)] == [row.id for row in BUILT_IN]
    assert ids[len(BUILT_IN) :] == ["ollama", "llama.cpp", "lm-studio", "vllm", "local", "demo"]
    assert [name for name in ids if models.is_available(name)] == ids[len(BUILT_IN) :]
    assert len(models.get_models()) == 1643 + 12 + 2


def test_a_key_in_the_environment_makes_only_its_provider_available(tmp_path: Path) -> None:
    models = collection(tmp_path, environ={"GROQ_API_KEY": "k", "UNRELATED_API_KEY": "x"})

    open_doors = [row.id for row in BUILT_IN if models.is_available(row.id)]

    assert open_doors == ["groq"]


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "anthropic-messages"])
async def test_a_custom_provider_answers_end_to_end(tmp_path: Path, api: str) -> None:
    with mock_server() as server:
        suffix = "" if api == "anthropic-messages" else "/v1"
        models = collection(
            tmp_path,
            providers={
                "mine": {
                    "baseUrl": f"http://127.0.0.1:{server.port}{suffix}",
                    "api": api,
                    "apiKey": "$MY_KEY",
                    "headers": {"X-Team": "${TEAM}"},
                    "models": [{"id": "echo-20"}],
                }
            },
            environ={"MY_KEY": "secret", "TEAM": "blue", "HTTP_PROXY": "http://127.0.0.1:9"},
        )
        model = models.get_model("mine", "echo-20")
        assert model is not None

        message = await models.complete(model, HELLO)
        await models.close()

    assert (message.stop_reason, message.provider) == ("stop", "mine"), message.error_message
    assert message.text
    assert message.usage.output > 0


async def test_configured_models_of_a_local_server_are_added_to_the_discovered_ones(
    tmp_path: Path,
) -> None:
    async with site({"/api/tags": {"models": [{"name": "qwen3:8b"}]}}) as server:
        own = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "models": [{"id": "m"}]}
        models = collection(
            tmp_path, providers={"ollama": {**own, "name": "My server"}, "local": own}
        )
        before = [model.id for model in models.get_models("ollama")]
        await models.refresh("ollama")
        await models.close()

    assert before == ["m"]
    assert [(model.id, model.base_url) for model in models.get_models("ollama")] == [
        ("qwen3:8b", f"{server.url}/v1"),
        ("m", f"{server.url}/v1"),
    ]
    assert [model.id for model in models.get_models("local")] == ["m"]
    assert "My server" in [row.name for row in models.get_providers()]


@pytest.mark.parametrize(
    ("providers", "address"),
    [
        ({}, "https://radius.example/v1"),
        ({"radius": {"baseUrl": "https://mine.example/v1/"}}, "https://mine.example/v1"),
    ],
)
def test_the_address_of_the_gateway_can_be_configured(
    tmp_path: Path, providers: Any, address: str
) -> None:
    environ = {"PI_RADIUS_GATEWAY": "https://radius.example"}
    models = collection(tmp_path, providers=providers, environ=environ)

    (radius,) = (row for row in models.get_providers() if row.id == "radius")

    assert radius.base_url == address


@pytest.mark.parametrize("ending", ["", "/v1"])
async def test_a_custom_gateway_lists_its_models(tmp_path: Path, ending: str) -> None:
    async with site({"/v1/models": {"data": [{"id": "balanced"}]}}) as server:
        gateway = {"baseUrl": f"{server.url}{ending}", "oauth": "radius", "apiKey": "k"}
        models = collection(tmp_path, providers={"team": gateway})
        await models.refresh("team")
        await models.close()

    assert [(model.id, model.base_url, model.api) for model in models.get_models("team")] == [
        ("balanced", f"{server.url}/v1", "pi-messages")
    ]
    (row,) = (row for row in models.get_providers() if row.id == "team")
    assert (row.login, row.lists_models) == ("radius", True)


async def test_an_anthropic_gateway_is_read_from_the_environment(tmp_path: Path) -> None:
    async with site({}) as server:
        environ = {
            "CLAUDE_CODE_USE_FOUNDRY": "1",
            "FOUNDRY_BASE_URL": server.url,
            "ANTHROPIC_FOUNDRY_API_KEY": "token",
            "ANTHROPIC_API_KEY": "not this one",
            "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue$",
        }
        models = collection(tmp_path, environ=environ)
        model = models.get_models("anthropic")[0]
        await models.complete(model, HELLO)
        await models.close()

    _, path, headers, _ = server.asked[0]
    assert path == "/v1/messages?beta=true"
    assert (headers["authorization"], headers["x-team"]) == ("Bearer token", "blue$")
    assert "x-api-key" not in headers


async def test_a_header_without_a_value_is_reported_before_a_request_is_sent(
    tmp_path: Path,
) -> None:
    models = collection(
        tmp_path,
        providers={
            "mine": {
                "baseUrl": "http://127.0.0.1:9",
                "api": "openai-completions",
                "apiKey": "k",
                "headers": {"X-Team": "$TEAM"},
                "models": [{"id": "m"}],
            }
        },
    )
    model = models.get_model("mine", "m")
    assert model is not None

    message = await models.complete(model, HELLO)

    assert message.error_message is not None
    assert "The header X-Team of mine in models.json has no value" in str(message.error_message)
    await models.close()


async def test_images_are_generated_with_the_api_key_of_the_provider(tmp_path: Path) -> None:
    picture = {"data": [{"b64_json": "iVBORw0KGgo="}]}
    async with site({"/images/generations": picture}) as server:
        models = create_images_models(
            storage=AuthStorage(tmp_path / "auth.json"),
            environ={"OPENAI_API_KEY": "k"},
            clock=FakeClock(),
            cwd=tmp_path,
        )
        here = [replace(model, base_url=server.url) for model in models.get_models("openai")]
        result = await models.generate(here[0], ImageRequest(prompt="a cat"))
        await models.close()

    assert [image.data for image in result.images] == ["iVBORw0KGgo="], result.error_message
    assert server.asked[0][2]["authorization"] == "Bearer k"


async def test_requests_to_local_servers_bypass_the_proxy() -> None:
    environ = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "example.org"}
    async with site({"/x": {"ok": True}}) as server:
        services = make_services(environ, FakeClock(), Network())
        response = await services.http.request(HttpRequest(url=f"{server.url}/x"))
        await services.close()

    assert response.json() == {"ok": True}


def test_a_plan_has_the_models_of_its_vendor_under_its_own_provider(tmp_path: Path) -> None:
    models = collection(tmp_path, environ={"MINIMAX_CODE_API_KEY": "k"})

    plan = models.get_models("minimax-code")
    assert {model.id for model in plan} == {model.id for model in models.get_models("minimax")}
    assert {(model.provider, model.base_url) for model in plan} == {
        ("minimax-code", "https://api.minimax.io/anthropic")
    }
    assert models.is_available("minimax-code")
    assert not models.is_available("minimax")


def test_a_custom_model_inherits_the_base_url_of_a_provider_with_a_model_list(
    tmp_path: Path,
) -> None:
    models = collection(tmp_path, providers={"venice": {"models": [{"id": "mine"}]}})

    model = models.get_model("venice", "mine")
    assert model is not None
    assert (model.api, model.base_url) == ("openai-completions", "https://api.venice.ai/api/v1")
