from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.messages import AssistantMessage
from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.credentials import AuthUnavailable
from tests.ai.auth.scripted_ui import ScriptedUI
from tests.coding.extension_host.stage import playing


async def test_a_key_comes_from_the_store_and_then_from_the_environment(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with playing(tmp_path, apis.append):
        (pi,) = apis
        assert await pi.auth.get("search", env=("NOPE", "LANG")) == "C.UTF-8"
        assert await pi.auth.get("search") is None

        await pi.auth.set("search", "$LANG")
        assert await pi.auth.get("search", env=("HOME",)) == "C.UTF-8"
        await pi.auth.set("search", "literal")
        assert await pi.auth.get("search") == "literal"


async def test_a_source_is_asked_before_the_store_until_it_is_removed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with playing(tmp_path, apis.append):
        (pi,) = apis
        await pi.auth.set("search", "stored")
        source = pi.auth.add_source(lambda name: f"vault/{name}")
        first = await pi.auth.get("search")
        source.remove()

        assert (first, await pi.auth.get("search")) == ("vault/search", "stored")


async def test_a_source_makes_models_available_before_one_is_chosen(tmp_path: Path) -> None:
    def vault(pi: ExtensionAPI) -> None:
        pi.auth.add_source(lambda name: "k", names=["anthropic"])

    async with playing(tmp_path, vault, model=None) as play:
        access = await play.stage.registry.models.access("anthropic")

        assert access is not None
        assert access.api_key == "k"
        assert play.session.model is not None
        assert play.stage.registry.has_auth("anthropic")
    assert not play.stage.registry.has_auth("anthropic")  # it ended with its session


async def test_an_unavailable_exclusive_source_stops_a_request(tmp_path: Path) -> None:
    def vault(pi: ExtensionAPI) -> None:
        def refuse(name: str) -> str:
            raise AuthUnavailable("The vault is closed.")

        pi.auth.add_source(refuse, names=["faux"])

    async with playing(tmp_path, vault, steps=(says("never"),)) as play:
        answer = await play.session.prompt("hello")

        assert isinstance(answer, AssistantMessage)
        assert answer.error_message == "The vault is closed."


async def test_one_can_log_in_to_a_service_with_a_key(tmp_path: Path) -> None:
    def search(pi: ExtensionAPI) -> None:
        pi.auth.add_login("tavily", label="Tavily")

    apis: list[ExtensionAPI] = []
    async with playing(tmp_path, search, apis.append) as play:
        accounts = play.session.accounts
        await accounts.store_key("tavily", ScriptedUI("k1"))

        assert await apis[0].auth.get("tavily") == "k1"
        (row,) = [each for each in await accounts.all() if each.provider.id == "tavily"]
        assert (row.provider.name, row.has_key) == ("Tavily", True)
        assert await accounts.storage.get("tavily") == ApiKeyCredential(key="k1")
        await play.host.unload()
        with pytest.raises(PiError, match="Unknown provider"):
            await accounts.store_key("tavily", ScriptedUI("k2"))


async def test_a_login_to_a_service_is_renewed_when_it_ends(tmp_path: Path) -> None:
    renewed: list[str] = []

    def service(pi: ExtensionAPI) -> None:
        def tokens(name: str) -> dict[str, Any]:
            now = pi.scope.clock.now_ms()
            return {"access": name, "refresh": "r", "expires": now + 3_600_000}

        async def login(person: Any) -> dict[str, Any]:
            return tokens("first")

        async def refresh(credential: OAuthCredential) -> dict[str, Any]:
            renewed.append(credential.access)
            return tokens("second")

        flow = {"name": "Mail", "login": login, "refresh_token": refresh}
        pi.auth.add_login("mail", oauth=flow)

    apis: list[ExtensionAPI] = []
    async with playing(tmp_path, service, apis.append) as play:
        await play.session.accounts.log_in("mail", ScriptedUI())
        first = await apis[0].auth.get("mail")
        await play.stage.clock.advance(3_500)

        assert (first, await apis[0].auth.get("mail")) == ("first", "second")
    assert renewed == ["first"]
