"""Who answers, and how much it thinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.runtime.events import ModelSelected
from pi.coding.settings.settings import Settings
from tests.coding.runtime.stage import Pair, Stage, kinds


async def test_another_model_answers_and_the_log_knows(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open(thinking="high")
    selected: list[ModelSelected] = []
    stage.bus.on(ModelSelected, selected.append)
    await session.models.choose("faux", "plain")

    assert session.models.thinking_level == "off"
    assert kinds(session)[-2:] == ["model_change", "thinking_level_change"]
    assert [event.source for event in selected] == ["set"]
    assert stage.order == ["thinking_level_changed"]
    await session.close()


@pytest.mark.trap(286)
async def test_choosing_a_model_changes_no_setting(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open()
    await session.models.choose("faux", "plain")
    await session.models.think("low")
    await session.close()

    assert not (stage.agent_dir / "settings.json").exists()
    assert isinstance(session.settings, Settings)


async def test_a_model_that_nobody_has_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    with pytest.raises(PiError, match="Model not found: x/y"):
        await session.models.choose("x", "y")
    await session.close()


async def test_cycling_goes_round_the_scope_with_its_levels(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open(models=("faux/faux:low", "faux/plain"))
    first, second = await session.models.cycle(), await session.models.cycle()

    assert first is not None
    assert second is not None
    assert (first.model.id, first.is_scoped) == ("plain", True)
    assert (second.model.id, second.thinking_level) == ("faux", "low")
    await session.close()


async def test_levels_are_cycled_and_nonsense_means_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open(thinking="high")
    levels = session.models.levels()
    await session.models.think("bogus")
    assert session.models.thinking_level == "off"
    assert await session.models.cycle_thinking() == levels[1]
    await session.close()


@pytest.mark.trap(23)
async def test_a_model_without_thinking_has_one_level(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open(model="faux/plain")

    assert session.models.levels() == ("off",)
    assert await session.models.cycle_thinking() is None
    await session.close()


async def test_the_scope_is_what_patterns_mean_and_none_means_all(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.registry.models.register(Pair())
    session = await stage.open()
    session.models.limit_to(["faux/plain", "faux/faux"])

    assert [choice.model.id for choice in session.models.scope] == ["plain", "faux"]
    session.models.limit_to([])
    assert session.models.scope == ()
    await session.close()


async def test_models_without_credentials_are_known_but_not_available(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    known = {model.provider for model in session.models.known()}

    assert "anthropic" in known
    assert "anthropic" not in {model.provider for model in session.models.available()}
    await session.close()
