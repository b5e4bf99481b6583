"""A provider that earlier versions called otherwise: files keep the name that they use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.program import Journey

NAMES = ("azure", "azure-openai-responses")
MODEL = {"id": "mine", "api": "openai-completions"}


def use_azure(journey: Journey, name: str, **provider: Any) -> None:
    entry = {"baseUrl": journey.model.url, "models": [MODEL], **provider}
    journey.home.write("models.json", json.dumps({"providers": {name: entry}}))


def providers_of(journey: Journey) -> set[str]:
    lines = [line for session in journey.home.sessions for line in session]
    messages = [line["message"] for line in lines if line["type"] == "message"]
    changes = [line["provider"] for line in lines if line["type"] == "model_change"]
    return {*changes, *(message["provider"] for message in messages if "provider" in message)}


@pytest.mark.parametrize("in_models", NAMES)
@pytest.mark.parametrize("in_auth", NAMES)
def test_both_names_mean_the_provider_in_every_file(
    journey: Journey, in_models: str, in_auth: str
) -> None:
    use_azure(journey, in_models)
    journey.home.use_login(in_auth, "sk-azure")
    for name in NAMES:
        journey.home.use_settings(defaultProvider=name, defaultModel="mine")
        assert journey.pi("-p", "hi").code == 0
        assert journey.pi("-p", "hi", "--model", f"{name}/mine").code == 0
        assert journey.pi("-p", "hi", "--provider", name, "--model", "mine").code == 0
        assert journey.pi("-p", "hi", "--models", f"{name}/mi*").code == 0
    assert {request["model"] for request in journey.model.requests} == {"mine"}
    keys = {headers["authorization"] for headers in journey.model.headers}
    assert keys == {"Bearer sk-azure"}
    assert providers_of(journey) == {"azure"}
    stored = json.loads((journey.home.agent_dir / "auth.json").read_text())
    assert list(stored) == [in_auth]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_keeps_the_name_that_it_uses(journey: Journey, name: str) -> None:
    use_azure(journey, "azure", apiKey="k")
    assert journey.pi("-p", "hi", "--model", "azure/mine").code == 0
    (file,) = journey.home.agent_dir.glob("sessions/*/*.jsonl")
    text = file.read_text()
    file.write_text(text.replace('"provider":"azure"', f'"provider":"{name}"'))
    ended = journey.pi("-p", "again", "--continue")
    assert (ended.code, ended.err) == (0, "")
    assert providers_of(journey) == {name}


def test_a_key_is_replaced_and_removed_under_its_name(journey: Journey) -> None:
    journey.home.use_login("azure-openai-responses", "sk-azure")
    assert journey.pi("auth", "check", "--provider", "azure").code == 0
    assert journey.pi("auth", "check", "--provider", "azure-openai-responses").code == 0
    assert journey.pi("logout", "azure").code == 0
    assert json.loads((journey.home.agent_dir / "auth.json").read_text()) == {}


def test_a_login_at_openai_that_another_program_has_stored_is_used(journey: Journey) -> None:
    entry = {"baseUrl": journey.model.url, "models": [MODEL]}
    journey.home.write("models.json", json.dumps({"providers": {"openai": entry}}))
    login = {"type": "oauth", "access": "token-of-1-5", "refresh": "r", "expires": 4102444800000}
    path = journey.home.write("auth.json", json.dumps({"openai": login}))
    path.chmod(0o600)
    ended = journey.pi("-p", "hi", "--model", "openai/mine")
    assert (ended.code, ended.err) == (0, "")
    assert journey.model.headers[-1]["authorization"] == "Bearer token-of-1-5"
    assert "openai" in journey.pi("--list-models", "gpt-6").out
    assert json.loads(path.read_text()) == {"openai": login}
