from __future__ import annotations

from typing import Any

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.models.model import Model
from pi.ai.providers.discovered import DiscoveredProvider, local_providers
from pi.ai.request import Access
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.loopback import site

VARIABLES = {
    "ollama": "OLLAMA_HOST",
    "llama.cpp": "LLAMA_BASE_URL",
    "lm-studio": "LMSTUDIO_BASE_URL",
    "vllm": "VLLM_BASE_URL",
}


def provider(name: str, url: str) -> DiscoveredProvider:
    (found,) = (p for p in local_providers({VARIABLES[name]: url}) if p.row.id == name)
    return found


async def discover(name: str, pages: dict[str, Any]) -> tuple[list[tuple[Any, ...]], str]:
    async with site(pages) as server, HttpClient(environ={}) as http:
        found = provider(name, server.url)
        await found.refresh(Services(http=http, clock=FakeClock(), environ={}), None)
        assert {model.base_url for model in found.models()} <= {f"{server.url}/v1"}
        return [facts(model) for model in found.models()], server.url


def facts(model: Model) -> tuple[Any, ...]:
    return model.id, model.context_window, model.max_tokens, model.reasoning, model.sees_images


@pytest.mark.behaviour("local-server-context")
async def test_the_context_size_is_read_from_the_server() -> None:
    ollama = {
        "/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": ""}, 7]},
        "/api/show": {
            "model_info": {"qwen3.context_length": 40960},
            "capabilities": ["completion", "tools", "thinking", "vision"],
        },
    }
    llama = {
        "/v1/models": {"data": [{"id": "m.gguf", "meta": {"n_ctx_train": 8192}}]},
        "/props": {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True}},
    }
    studio = {
        "/api/v0/models": {
            "data": [
                {"id": "a", "type": "llm", "max_context_length": 9000},
                {"id": "b", "type": "embeddings"},
                {"id": "c", "type": "vlm", "loaded_context_length": 5000},
            ]
        }
    }
    vllm = {"/v1/models": {"data": [{"id": "meta/x", "max_model_len": 131072}]}}

    assert (await discover("ollama", ollama))[0] == [("qwen3:8b", 40960, 16384, True, True)]
    assert (await discover("llama.cpp", llama))[0] == [("m.gguf", 4096, 4096, False, True)]
    assert (await discover("lm-studio", studio))[0] == [
        ("a", 9000, 9000, False, False),
        ("c", 5000, 5000, False, True),
    ]
    assert (await discover("vllm", vllm))[0] == [("meta/x", 131072, 16384, False, False)]


@pytest.mark.parametrize("name", sorted(VARIABLES))
@pytest.mark.parametrize(
    "answer",
    [
        (500, {}),
        b"<html>",
        b"[" * 100_000,
        [],
        None,
        {"data": 7, "models": None},
        {"data": [{"id": "x", "meta": [1]}, None], "default_generation_settings": 1},
        {"data": [{"id": "x"}], "default_generation_settings": {}, "modalities": ["vision"]},
        {"models": [{"name": "x"}], "model_info": "small", "capabilities": 1},
    ],
)
async def test_an_invalid_server_response_raises_no_error(name: str, answer: Any) -> None:
    paths = ("/api/tags", "/api/show", "/v1/models", "/api/v0/models", "/props")
    pages = dict.fromkeys(paths, answer)

    found, _ = await discover(name, pages)

    assert {row[0] for row in found} <= {"x"}
    assert {row[1] for row in found} <= {128_000}


async def test_an_unreachable_server_has_no_models() -> None:
    async with HttpClient(environ={}) as http:
        found = provider("ollama", "127.0.0.1:9")
        await found.refresh(Services(http=http, clock=FakeClock(), environ={}), None)

    assert found.models() == ()


async def test_a_configured_key_is_sent() -> None:
    async with site({"/v1/models": {"data": []}}) as server, HttpClient(environ={}) as http:
        found = provider("vllm", server.url)
        services = Services(http=http, clock=FakeClock(), environ={})
        await found.refresh(services, Access(api_key="secret"))

    assert server.asked[0][2]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box:1234", "http://box:1234"),
        ("box", "http://box:11434"),
        ("box/ollama", "http://box:11434/ollama"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:80", "http://127.0.0.1:80"),
        (":1234", "http://127.0.0.1:1234"),
        ("[::1]:1234", "http://[::1]:1234"),
        ("https://box/v1/", "https://box"),
    ],
)
def test_server_addresses_are_normalised(given: str, address: str) -> None:
    assert provider("ollama", given).row.base_url == address


def test_the_first_set_variable_determines_the_address_of_a_server() -> None:
    environ = {
        "OLLAMA_BASE_URL": "http://a",
        "OLLAMA_HOST": "b",
        "LLAMA_CPP_BASE_URL": "http://c",
        "LM_STUDIO_BASE_URL": "http://d/v1",
    }

    assert [found.row.base_url for found in local_providers(environ)] == [
        "http://a",
        "http://c",
        "http://d",
        "http://127.0.0.1:8000",
    ]


@pytest.mark.parametrize(("setting", "window"), [("4096", 4096), ("0", 40960), ("many", 40960)])
async def test_a_variable_sets_the_context_window_of_ollama(setting: str, window: int) -> None:
    shown = {"model_info": {"qwen3.context_length": 40960}}
    pages = {"/api/tags": {"models": [{"name": "qwen3:8b"}]}, "/api/show": shown}
    async with site(pages) as server, HttpClient(environ={}) as http:
        environ = {"OLLAMA_HOST": server.url, "OLLAMA_CONTEXT_LENGTH": setting}
        found = local_providers(environ)[0]
        await found.refresh(Services(http=http, clock=FakeClock(), environ={}), None)

    assert [model.context_window for model in found.models()] == [window]
