"""Selection of the model and of the thinking level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.errors import PiError
from pi.coding.extension_host.events.session import ModelSelectEvent
from pi.coding.session.opening import open_session
from pi.coding.settings.settings import Settings
from pi.testing import says
from tests.ai.loopback import NOWHERE, site
from tests.coding.runtime.session_fixture import ENVIRON, Pair, SessionFixture, kinds

OLLAMA = {"/api/tags": {"models": [{"name": "qwen3:8b"}]}, "/api/show": {}}


def beside_ollama(tmp_path: Path, url: str) -> SessionFixture:
    """No provider has a key, and an Ollama server runs."""
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, **NOWHERE, "OLLAMA_HOST": url})
    fixture.registry.models.unregister("faux")
    return fixture


async def test_selecting_a_model_is_recorded_and_adjusts_the_thinking_level(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open(thinking="high")
    selected: list[ModelSelectEvent] = []
    fixture.bus.subscribe(ModelSelectEvent, selected.append)
    await session.models.select_id("faux", "plain")

    assert session.models.thinking_level == "off"
    assert kinds(session)[-2:] == ["model_change", "thinking_level_change"]
    assert [event.source for event in selected] == ["set"]
    assert fixture.order == ["thinking_level_changed"]
    await session.close()


async def test_the_thinking_level_stays_off_after_a_model_without_thinking(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open(thinking="high")
    session.settings.override({"defaultThinkingLevel": "low"})

    await session.models.select_id("faux", "plain")
    await session.models.select_id("faux", "faux")
    after_selection = session.models.thinking_level
    await session.models.set_thinking_level("high")
    await session.models.cycle()
    await session.models.cycle()

    assert (after_selection, session.models.thinking_level) == ("off", "off")
    await session.close()


@pytest.mark.behaviour("session-model-is-not-global")
async def test_choosing_a_model_changes_no_setting(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open()
    await session.models.select_id("faux", "plain")
    await session.models.set_thinking_level("low")
    await session.close()

    assert not (fixture.agent_dir / "settings.json").exists()
    assert isinstance(session.settings, Settings)


async def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(PiError, match="Model not found: x/y"):
        await session.models.select_id("x", "y")
    await session.close()


async def test_cycling_selects_the_models_in_scope_with_their_thinking_levels(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open(models=("faux/faux:low", "faux/plain"))
    first, second = await session.models.cycle(), await session.models.cycle()

    assert first is not None
    assert second is not None
    assert (first.model.id, first.is_scoped) == ("plain", True)
    assert (second.model.id, second.thinking_level) == ("faux", "low")
    await session.close()


async def test_thinking_levels_are_cycled_and_an_unknown_level_means_off(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(thinking="high")
    levels = session.models.levels()
    await session.models.set_thinking_level("bogus")
    assert session.models.thinking_level == "off"
    assert await session.models.cycle_thinking() == levels[1]
    await session.close()


@pytest.mark.behaviour("thinking-off-is-explicit")
async def test_a_model_without_thinking_has_one_level(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open(model="faux/plain")

    assert session.models.levels() == ("off",)
    assert await session.models.cycle_thinking() is None
    await session.close()


async def test_model_patterns_set_the_scope_and_an_empty_list_clears_it(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.register(Pair())
    session = await fixture.open()
    session.models.set_scope(["faux/plain", "faux/faux"])

    assert [choice.model.id for choice in session.models.scope] == ["plain", "faux"]
    session.models.set_scope([])
    assert session.models.scope == ()
    await session.close()


async def test_models_without_credentials_are_known_but_not_available(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    providers = {model.provider for model in session.models.registry.get_all()}

    assert "anthropic" in providers
    assert "anthropic" not in {model.provider for model in session.models.registry.get_available()}
    await session.close()


async def test_a_model_of_a_local_server_can_be_selected_by_name(tmp_path: Path) -> None:
    async with site(OLLAMA) as server:
        fixture = beside_ollama(tmp_path, server.url)
        session = await fixture.open(model=None)
        before = session.models.current, server.asked[:]
        chosen = await session.models.select_id("ollama", "qwen3:8b")
        await session.close()
        await fixture.registry.models.close()

    assert before == (None, [])  # the start does not wait for servers that were not selected
    assert (chosen.provider, session.models.current) == ("ollama", chosen)


async def test_discovered_models_are_offered_and_become_available_when_selected(
    tmp_path: Path,
) -> None:
    async with site(OLLAMA) as server:
        fixture = beside_ollama(tmp_path, server.url)
        session = await fixture.open(model=None)
        await session.models.discover()
        offered = {
            model.id
            for model in session.models.registry.get_offered()
            if model.provider == "ollama"
        }
        before = {model.provider for model in session.models.registry.get_available()}
        (server_status,) = session.models.registry.not_chosen()
        await session.models.select("ollama/qwen3:8b")
        after = [model.id for model in session.models.registry.get_available()]
        await session.close()
        await fixture.registry.models.close()

    assert (offered, before) == ({"qwen3:8b"}, {"local", "demo"})
    assert (server_status.provider, server_status.state) == ("ollama", "new")
    assert (after, session.models.registry.not_chosen()) == (["qwen3:8b"], ())


async def test_a_default_model_of_a_local_server_is_found_at_the_start(tmp_path: Path) -> None:
    async with site(OLLAMA) as server:
        fixture = beside_ollama(tmp_path, server.url)
        fixture.write(
            ".pi/agent/settings.json",
            '{"defaultProvider": "ollama", "defaultModel": "qwen3:8b"}',
        )
        session = await fixture.open(model=None)
        await session.close()
        await fixture.registry.models.close()

    assert session.models.current is not None
    assert session.models.current.id == "qwen3:8b"


async def test_without_an_api_key_the_model_of_an_approved_local_server_is_selected(
    tmp_path: Path,
) -> None:
    async with site(OLLAMA) as server:
        fixture = beside_ollama(tmp_path, server.url)
        session = await fixture.open(model=None)
        await session.models.select_fallback_model()
        passed_over = session.models.current is None
        (model,) = fixture.registry.models.get_models("ollama")
        await fixture.registry.choose_server(model)
        await session.models.select_fallback_model()
        await session.close()
        await fixture.registry.models.close()

    assert passed_over
    assert session.models.current is not None
    assert session.models.current.id == "qwen3:8b"
    assert kinds(session)[-1] == "model_change"


async def test_the_last_resort_is_used_only_if_no_model_was_ever_selected(
    tmp_path: Path,
) -> None:
    nowhere = {**ENVIRON, **NOWHERE}
    calls: list[str] = []

    async def find(fixture: SessionFixture, **options: Any) -> str | None:
        async def last_resort() -> Model:
            calls.append("")
            return FAUX_MODEL

        fixture.registry.models.unregister("faux")
        session = await fixture.open(model=None, last_resort=last_resort, **options)
        await session.models.select_fallback_model()
        await session.close()
        await fixture.registry.models.close()
        return session.models.current.id if session.models.current else None

    first = SessionFixture(tmp_path / "first", environ=nowhere)
    assert await find(first) == "faux"

    requested = SessionFixture(tmp_path / "wanted", environ=nowhere)
    requested.write(".pi/agent/settings.json", '{"defaultProvider": "anthropic"}')
    assert await find(requested) is None

    resumed = SessionFixture(tmp_path / "resumed", says("one"), environ=nowhere)
    session = await resumed.open()
    await session.prompts.prompt("hello")
    file = session.entries.log.file
    assert file is not None
    await session.close()
    assert await find(resumed, open_log=lambda location: open_session(file, location)) is None
    assert calls == [""]


async def test_the_first_selected_model_gets_the_default_thinking_level(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.unregister("faux")
    session = await fixture.open(model=None)
    before = session.models.thinking_level
    fixture.registry.models.register(fixture.provider)
    await session.models.select_id("faux", "faux")
    await session.close()

    assert (before, session.models.thinking_level) == ("off", "medium")
