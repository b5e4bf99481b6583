from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, FauxProvider, says
from pi.base.records import replace
from pi.coding.bus import Owner
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.providers import (
    ConfiguredProvider,
    Providers,
    provider_from,
)
from pi.coding.extension_host.errors import ExtensionError
from tests.ai.auth.scripted_ui import ScriptedUI
from tests.coding.extension_host.extension_session import extension_session

ME = Owner(name="me", path="/me.py")
MODEL = {"id": "m", "name": "M", "contextWindow": 1000, "maxTokens": 100}


async def test_a_provider_of_an_extension_can_answer_requests_itself(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        async def answer(call: Any, builder: Any, flush: Any) -> None:
            builder.start()
            builder.text(0, f"echo: {call.messages[-1].content[0].text}")
            flush()
            builder.finish("stop")

        pi.register_provider("echo", {"api": "echo", "models": [MODEL], "answer": answer})

    async with extension_session(tmp_path, extension, model="echo/m") as hosted:
        answer = await hosted.session.prompt("hello")

        assert answer is not None
        assert answer.content[0].text == "echo: hello"  # type: ignore[union-attr]
        assert hosted.session.model is not None


def test_a_configured_provider_has_its_models_and_headers() -> None:
    config = {
        "base_url": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "api_key": "$KEY",
        "headers": {"X-A": "1", "User-Agent": "me"},
        "models": [MODEL],
    }

    provider = provider_from("mine", config, {})
    (model,) = provider.models()

    assert (model.provider, model.base_url, model.headers) == (
        "mine",
        "http://127.0.0.1:9/v1",
        {"X-A": "1", "User-Agent": "me"},
    )
    assert not provider.row.needs_key
    assert provider.row.secrets == ("$KEY", "1")


def test_without_models_an_existing_provider_is_reconfigured() -> None:
    provider = provider_from("anthropic", {"base_url": "http://127.0.0.1:9"}, {})

    assert {model.base_url for model in provider.models()} == {"http://127.0.0.1:9"}
    assert isinstance(provider, ConfiguredProvider)


def test_an_invalid_provider_configuration_is_refused() -> None:
    with pytest.raises(ExtensionError, match="has no configuration"):
        provider_from("x", None, {})
    with pytest.raises(ExtensionError, match="baseUrl"):
        provider_from("x", {"baseUrl": "a"}, {})


class Collection:
    """The part of a model collection that providers need."""

    def __init__(self, *providers: Any) -> None:
        self.known = {provider.row.id: provider for provider in providers}

    def get_provider(self, name: str) -> Any:
        return self.known.get(name)

    def register(self, provider: Any) -> None:
        self.known[provider.row.id] = provider

    def unregister(self, name: str) -> None:
        self.known.pop(name, None)


def test_a_removed_provider_restores_the_one_that_it_replaced() -> None:
    original = FauxProvider(says("a"))
    mine, yours = FauxProvider(says("b")), FauxProvider(says("c"))
    providers, models = Providers(), Collection(original)

    remove = providers.add(mine, ME)
    providers.connect(models)  # type: ignore[arg-type]
    assert models.known["faux"] is mine

    providers.add(yours, ME)
    assert models.known["faux"] is yours
    providers.remove("faux", ME)
    remove()
    assert models.known == {"faux": original}
    assert FAUX_MODEL in original.models()


async def test_a_failing_model_list_is_reported_and_keeps_the_previous_models(
    tmp_path: Path,
) -> None:
    lists = [[{**MODEL, "id": "new"}]]

    async def listed(access: Any) -> list[dict[str, Any]]:
        return lists.pop()

    def extension(pi: ExtensionAPI) -> None:
        config = {"api": "x", "base_url": "http://127.0.0.1:9", "api_key": "k", "models": [MODEL]}
        pi.register_provider("mine", {**config, "refresh_models": listed})

    async with extension_session(tmp_path, extension) as hosted:
        models = hosted.fixture.registry.models
        first = await models.refresh("mine")
        second = await models.refresh("mine")

        assert (first, list(second)) == ({}, ["mine"])
        assert [model.id for model in models.get_models("mine")] == ["new"]


@pytest.mark.parametrize("broken", [False, True])
async def test_models_can_depend_on_the_account(tmp_path: Path, *, broken: bool) -> None:
    def other(models: tuple[Model, ...], credential: OAuthCredential) -> tuple[Model, ...]:
        return tuple(replace(each, id=credential.extra["plan"]) for each in models)

    def extension(pi: ExtensionAPI) -> None:
        async def tokens(_: Any) -> dict[str, Any]:
            more = {} if broken else {"plan": "gold"}
            return {"access": "a", "refresh": "r", "expires": 2**50, **more}

        oauth = {"name": "Mine", "login": tokens, "refresh_token": tokens, "modify_models": other}
        pi.register_provider(
            "mine",
            {"api": "x", "base_url": "http://127.0.0.1:9", "models": [MODEL], "oauth": oauth},
        )

    async with extension_session(tmp_path, extension) as hosted:
        models = hosted.fixture.registry.models
        before = [model.id for model in models.get_models("mine")]
        await hosted.session.accounts.log_in("mine", ScriptedUI())

        after = [model.id for model in models.get_models("mine")]
        assert (before, after) == (["m"], ["m" if broken else "gold"])
