"""Files of 1.5 mean the same to pi: what the model gets, and what clients see."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.model_server import Json, calls, says
from tests.journeys.program import COMMAND, Journey
from tests.originals.comparison import differences, shape_of
from tests.originals.programs import original

pytestmark = pytest.mark.full

SERVER = Path(__file__).parents[1] / "journeys" / "mcp_server.py"
LEVELS = ("off", "low", "high")
MODELS: dict[str, Json] = {
    "plain": {},
    "names and limits": {"name": "The One", "contextWindow": 9000, "maxTokens": 700},
    "prices": {"cost": {"input": 1, "output": 2, "cacheRead": 0.5, "cacheWrite": 3}},
    "reasoning": {"reasoning": True},
    "levels": {"reasoning": True, "thinkingLevelMap": {"off": None, "high": "max", "low": "low"}},
    "headers": {"headers": {"x-one": "1"}},
    "sampling": {"samplingParams": {"temperature": 0.5, "top_p": 0.9}},
    "sampling by level": {
        "reasoning": True,
        "samplingParams": {"temperature": 0.5, "top_p": 0.9},
        "samplingParamsByThinkingLevel": {"high": {"temperature": 1}},
    },
    "no developer role": {"reasoning": True, "compat": {"supportsDeveloperRole": False}},
    "no effort": {"reasoning": True, "compat": {"supportsReasoningEffort": False}},
    "no usage": {"compat": {"supportsUsageInStreaming": False}},
    "old limit": {"compat": {"maxTokensField": "max_tokens"}},
    "no store": {"compat": {"supportsStore": True}},
    "no cache key": {"compat": {"promptCacheKeyMode": "disabled"}},
    "cache key": {"compat": {"promptCacheKeyMode": "enabled"}},
    "no null": {"compat": {"requiresNonNullAssistantContent": True}},
    "tools with history": {"compat": {"requiresToolsWithToolHistory": True}},
    "qwen": {"reasoning": True, "compat": {"thinkingFormat": "qwen"}},
    "deepseek": {"reasoning": True, "compat": {"thinkingFormat": "deepseek"}},
    "openrouter": {"reasoning": True, "compat": {"thinkingFormat": "openrouter"}},
    "pictures": {"input": ["text", "image"]},
}
SETTINGS: dict[str, Json] = {
    "tools": {"defaultTools": ["read", "grep"]},
    "one more tool": {"defaultTools": ["+grep"]},
    "one less": {"defaultTools": ["-bash"]},
    "mixed": {"defaultTools": ["read", "bash", "+ls", "-bash"]},
    "level": {"defaultThinkingLevel": "low"},
    "queues": {"steeringMode": "all", "followUpMode": "all"},
    "old queue": {"queueMode": "all"},
    "no compaction": {"compaction": {"enabled": False}},
    "a schema": {"$schema": "https://example.com/settings.json", "defaultThinkingLevel": "high"},
    "waits": {"httpIdleTimeoutMs": "disabled", "websocketConnectTimeoutMs": "disabled"},
    "header": {"quietStartup": "header", "theme": "system", "cacheWarming": "idle"},
}
SERVERS: dict[str, Json] = {
    "direct": {"exposure": "direct"},
    "hidden": {"exposure": "hidden"},
    "deferred": {"exposure": "deferred"},
    "one tool direct": {"exposure": "hidden", "toolExposure": {"weather": "direct"}},
    "a pattern": {"exposure": "direct", "toolExposure": {"wea*": "hidden"}},
    "off": {"exposure": "direct", "enabled": False},
}
EXPLAINED = {
    ".models[].headers.x-one": "values of headers do not leave pi",
    ".state.model.headers.x-one": "values of headers do not leave pi",
}
"""The differences that are meant, and why: rows of docs/compatibility.md."""


def ask(journey: Journey, program: Path | str, *arguments: str) -> dict[str, Any]:
    """Return what a client sees and what the model gets from one program."""
    journey.program = str(program)
    journey.model.forget_script()
    journey.model.script(calls("bash", command="true"), says("Hello."))
    with journey.rpc(*arguments) as client:
        state = client.request("get_state")
        models = client.request("get_available_models")["models"]
        client.prompts("begin")
    body = dict(journey.model.last)
    tools = [tool["function"]["name"] for tool in body.pop("tools", [])]
    # Prompts are our own texts.
    body["messages"] = [m for m in body["messages"] if m["role"] not in ("system", "developer")]
    if "bash" not in tools:
        del body["messages"]
    for name in ("sessionId", "sessionFile"):
        del state[name]
    headers = {name: value for name, value in journey.model.headers[-1].items() if "x-one" in name}
    return {"state": state, "models": models, "body": body, "tools": tools, "headers": headers}


def compare(journey: Journey, *arguments: str) -> dict[str, Any]:
    """Return where pi differs from the original 1.5.2."""
    journey.environ["PI_OFFLINE"] = "1"
    expected = ask(journey, original("1.5.2") / "pi", *arguments)
    actual = ask(journey, COMMAND, *arguments)
    found = differences(shape_of(expected, {}), shape_of(actual, {}))
    return {path: values for path, values in found.items() if path not in EXPLAINED}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_models_json_is_requested_alike(name: str, journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", **MODELS[name])
    levels = LEVELS if MODELS[name].get("reasoning") else ("off",)
    found: dict[str, Any] = {}
    for level in levels:
        found |= {f"{level} {k}": v for k, v in compare(journey, "--thinking", level).items()}
    assert found == {}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_the_same_effect(name: str, journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", reasoning=True)
    journey.home.use_settings(**SETTINGS[name])
    assert compare(journey) == {}


@pytest.mark.parametrize("name", SERVERS)
def test_tools_of_a_server_are_exposed_alike(name: str, journey: Journey) -> None:
    journey.home.use_model(journey.model, "one")
    server = {"command": sys.executable, "args": [str(SERVER)], **SERVERS[name]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"sky": server}}))
    assert compare(journey) == {}
