from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.runtime.models import discover_models, own_models
from tests.coding.runtime.session_fixture import SessionFixture

FILE = ".pi/agent/models.json"


def mine(*ids: str, **provider: object) -> str:
    """A file with the user's models."""
    entry = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "apiKey": "k",
        "api": "openai-completions",
        "models": [{"id": id} for id in ids],
    }
    return json.dumps({"providers": {"mine": {**entry, **provider}}})


def test_reloading_applies_added_changed_and_removed_models(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    registry = discover_models(fixture.host, fixture.cwd)
    assert not registry.has_auth("mine")

    fixture.write(FILE, mine("a"))
    registry.reload()
    assert registry.find("mine", "a") is not None
    assert registry.has_auth("mine")

    fixture.write(FILE, mine("b", baseUrl="http://127.0.0.1:8/v1"))
    registry.reload()
    assert registry.find("mine", "a") is None
    model = registry.find("mine", "b")
    assert model is not None
    assert model.base_url == "http://127.0.0.1:8/v1"

    fixture.write(FILE, '{"providers": {}}')
    registry.reload()
    assert registry.find("mine", "b") is None
    assert fixture.reports == []


def test_a_file_that_became_invalid_is_reported_once_and_changes_nothing(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(FILE, mine("a"))
    registry = discover_models(fixture.host, fixture.cwd)

    fixture.write(FILE, "{broken")
    registry.reload()
    registry.reload()

    assert len(fixture.reports) == 1
    assert "Failed to parse models.json" in fixture.reports[0]
    assert registry.find("mine", "a") is not None


def test_a_file_that_became_unreadable_is_reported(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    registry = discover_models(fixture.host, fixture.cwd)
    (fixture.host.agent_dir / "models.json").mkdir(parents=True)

    registry.reload()

    assert fixture.reports[0].startswith("Warning: ")


def test_without_a_models_file_there_are_no_user_providers(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)

    assert own_models(fixture.host).providers == ()


async def test_a_model_added_to_the_file_during_a_session_can_be_selected(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(FILE, mine("first"))
    fixture.registry = discover_models(fixture.host, fixture.cwd)
    session = await fixture.open(model="mine/first")
    fixture.write(FILE, mine("late"))

    assert (await session.models.select("mine/late")).id == "late"
    fixture.write(FILE, mine("later"))
    await session.models.discover()
    assert "later" in [model.id for model in session.models.registry.get_available()]
    with pytest.raises(PiError, match="Model not found"):
        await session.models.select("mine/never")
    await session.close()
