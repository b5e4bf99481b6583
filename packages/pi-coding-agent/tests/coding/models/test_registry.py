"""Look-ups over the models of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.models.registry import ModelRegistry
from tests.ai.loopback import NOWHERE, site
from tests.coding.models.catalogue import registry
from tests.coding.runtime.session_fixture import SessionFixture


def test_only_models_with_credentials_are_available() -> None:
    models = registry("openai")

    assert {model.provider for model in models.get_available()} == {"openai"}
    assert len(models.get_all()) == 10
    assert (models.has_auth("openai"), models.has_auth("azure")) == (True, False)


def test_the_default_model_of_a_provider_is_its_configured_or_its_first_one() -> None:
    models = registry()
    defaults = [models.default_of(name) for name in ("anthropic", "openrouter", "unknown")]

    assert [model and model.id for model in defaults] == [
        "claude-opus-4-6",
        "anthropic/claude-opus-4-6",
        None,
    ]


def test_names_patterns_and_scopes_are_resolved() -> None:
    models = registry("openai")
    model, resolved = models.find("openai", "gpt-5"), models.resolve("mini", "openai")

    assert model is not None
    assert resolved is not None
    assert resolved.model.id == "gpt-5-mini"
    assert [choice.model.id for choice in models.scope(["gpt-*"])] == ["gpt-5", "gpt-5-mini"]


async def test_discover_local_returns_false_without_new_models() -> None:
    assert not await registry("openai").discover_local()


@pytest.mark.parametrize(
    ("environ", "offline", "is_listed"),
    [
        ({"RADIUS_API_KEY": "k"}, False, True),
        ({}, False, False),
        ({"RADIUS_API_KEY": "k"}, True, False),
    ],
)
async def test_a_gateway_is_queried_for_models_only_online_and_with_credentials(
    tmp_path: Path, environ: dict[str, str], *, offline: bool, is_listed: bool
) -> None:
    async with site({"/v1/models": [{"id": "balanced"}]}) as server:
        fixture = SessionFixture(tmp_path, environ={"PI_RADIUS_GATEWAY": server.url, **environ})
        models = ModelRegistry(fixture.registry.models, offline=offline)
        before = models.is_undiscovered("radius")
        await models.discover_local()
        await models.models.close()

    assert (before, models.find("radius", "balanced") is not None) == (is_listed, is_listed)
    assert not models.is_undiscovered("radius")


async def test_an_api_key_is_returned_only_for_a_provider_with_credentials(tmp_path: Path) -> None:
    models = SessionFixture(tmp_path, environ={"OPENAI_API_KEY": "k"}).registry
    mine, theirs = (models.models.get_models(name)[0] for name in ("openai", "anthropic"))

    assert (models.has_configured_auth(mine), models.has_configured_auth(theirs)) == (True, False)
    assert await models.get_api_key_and_headers(mine) == ("k", {})
    assert await models.get_api_key_and_headers(theirs) == (None, {})


def test_resolvers_map_names_to_models_until_they_are_removed() -> None:
    models = registry("openai")
    model = models.find("openai", "gpt-5")
    first = models.add_resolver(lambda name: "mini" if name == "small" else None)
    second = models.add_resolver(lambda name: model if name == "big" else None)

    names = [models.resolve(name) for name in ("small", "big", "gpt-5")]
    first()
    second()

    assert [choice and choice.model.id for choice in names] == ["gpt-5-mini", "gpt-5", "gpt-5"]
    assert models.resolve("big") is None


async def test_bundled_models_are_listed_only_without_other_available_models(
    tmp_path: Path,
) -> None:
    alone = SessionFixture(tmp_path / "alone", environ={})
    alone.registry.models.unregister("faux")
    beside = SessionFixture(tmp_path / "beside", environ={"GROQ_API_KEY": "k"}).registry

    assert {model.provider for model in alone.registry.get_available()} == {"local", "demo"}
    assert {model.provider for model in beside.get_available()} == {"groq", "faux"}
    assert {model.provider for model in beside.get_offered()} == {"groq", "faux", "local", "demo"}
    globbed = {choice.model.provider for choice in beside.scope(["*o*"])}
    assert globbed & {"groq", "demo", "local"} == {"groq"}
    named = [choice.model.provider for choice in beside.scope(["demo/*", "smollm2-135m"])]
    assert named == ["demo", "local"]


async def test_a_discovered_server_is_used_only_when_it_is_named(tmp_path: Path) -> None:
    pages = {"/v1/models": {"data": [{"id": "claude-opus"}]}}
    async with site(pages) as server:
        fixture = SessionFixture(tmp_path, environ={**NOWHERE, "VLLM_BASE_URL": server.url})
        models = fixture.registry
        await models.discover_local()
        bare, scoped = models.resolve("claude-opus"), models.scope(["vllm/*", "claude*"])
        named = models.resolve("vllm/claude-opus"), models.resolve("opus", "vllm")
        await models.models.close()

    assert bare is None or bare.model.provider != "vllm"
    assert scoped == ()
    assert [choice and choice.model.provider for choice in named] == ["vllm", "vllm"]
