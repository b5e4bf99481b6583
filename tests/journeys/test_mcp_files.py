"""Files and commands of MCP servers as version 1.5 of the original has them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.program import Journey

SERVER = Path(__file__).with_name("mcp_server.py")
WEATHER: dict[str, Any] = {"command": sys.executable, "args": [str(SERVER)]}


def use_servers(journey: Journey, **servers: Any) -> None:
    journey.home.write("mcp.json", json.dumps({"mcpServers": servers, "autoEnableCodemode": True}))


def stored(journey: Journey) -> dict[str, Any]:
    servers: dict[str, Any]
    servers = json.loads((journey.home.agent_dir / "mcp.json").read_text())["mcpServers"]
    return servers


def mcp_tools(journey: Journey) -> list[str]:
    return [name for name in journey.model.tools_of() if name.startswith("mcp__")]


def test_servers_are_added_with_the_options_of_1_5(journey: Journey) -> None:
    added = journey.pi(
        *("mcp", "add", "sky", "--env", "A=1", "--env", "B=2", "--cwd", "/tmp"),
        *("--exposure", "direct", "--description", "The sky", "--", "run", "--env", "X=1"),
    )
    assert added.code == 0, added.err
    assert stored(journey)["sky"] == {
        "command": "run",
        "args": ["--env", "X=1"],
        "env": {"A": "1", "B": "2"},
        "cwd": "/tmp",
        "exposure": "direct",
        "description": "The sky",
    }
    added = journey.pi(
        *("mcp", "add", "docs", "--url", "https://example.com/mcp", "--header", "A=1"),
        *("--header", "B: 2", "--bearer-token-env-var", "DOCS_TOKEN"),
        *("--oauth-client-id", "me", "--oauth-callback-port", "4444"),
    )
    assert added.code == 0, added.err
    assert stored(journey)["docs"] == {
        "url": "https://example.com/mcp",
        "headers": {"A": "1", "B": "2", "Authorization": "Bearer ${DOCS_TOKEN}"},
        "oauth": {"clientId": "me", "callbackPort": 4444},
    }
    assert journey.pi("mcp", "remove", "sky").code == 0
    assert list(stored(journey)) == ["docs"]
    unknown = journey.pi("mcp", "add", "x", "--evn", "A=1", "--", "run")
    assert unknown.code == 1
    assert "Unknown option of mcp add: --evn" in unknown.err


def test_a_server_is_added_to_the_project_and_removed_there(journey: Journey) -> None:
    assert journey.pi("mcp", "add", "sky", "-l", "--", "run").code == 0
    file = journey.home.cwd / ".pi" / "mcp.json"
    assert json.loads(file.read_text())["mcpServers"]["sky"]["command"] == "run"
    assert journey.pi("mcp", "remove", "sky", "-l").code == 0
    assert json.loads(file.read_text())["mcpServers"] == {}
    assert not (journey.home.agent_dir / "mcp.json").exists()


def test_the_list_as_json_connects_and_fails_for_a_broken_server(journey: Journey) -> None:
    use_servers(journey, sky=WEATHER)
    listed = journey.pi("mcp", "list", "--json")
    assert listed.code == 0, listed.err
    (sky,) = json.loads(listed.out)["servers"]
    assert (sky["name"], sky["status"], sky["tools"]) == ("sky", "connected", ["weather"])
    use_servers(journey, sky=WEATHER, gone={"command": "/no/such/program"}, bad={"args": []})
    listed = journey.pi("mcp", "list", "--json")
    assert listed.code == 1
    states = {row["name"]: row["status"] for row in json.loads(listed.out)["servers"]}
    assert states == {"sky": "connected", "gone": "not connected", "bad": "invalid"}


def test_seconds_home_and_the_code_mode_of_files_are_understood(journey: Journey) -> None:
    shutil.copy(SERVER, journey.home.path / "weather.py")
    server = {"command": sys.executable, "args": ["~/weather.py"], "cwd": "~/", "timeout": 60}
    use_servers(journey, sky={**server, "exposure": "codemode"})
    first = journey.pi("-p", "hi")
    assert first.err.count("means deferred: there is no code mode") == 1
    assert mcp_tools(journey) == []
    assert "mcp__sky" in journey.model.prompt_of()
    assert "code mode" not in journey.pi("-p", "hi").err
    use_servers(journey, sky={**server, "exposure": "direct"})
    journey.model.calls("mcp__sky__weather", city="Oslo")
    assert journey.pi("-p", "hi").code == 0
    assert "Rain in Oslo." in journey.model.results_of()[0]


def test_an_entry_of_a_project_changes_the_server_of_the_user(journey: Journey) -> None:
    use_servers(journey, sky=WEATHER)
    change = {"mcpServers": {"sky": {"exposure": "hidden"}}}
    journey.home.write_work(".pi/mcp.json", json.dumps(change))
    journey.pi("-p", "hi", "--approve")
    assert mcp_tools(journey) == ["mcp__sky__weather"], "without consent"
    with journey.rpc("--approve") as client:
        client.answers["select"] = {"value": "Allow"}
        client.prompts("hi")
        assert mcp_tools(journey) == []


@pytest.mark.parametrize(
    ("settings", "arguments", "is_used"),
    [
        ({}, ("--no-mcp",), False),
        ({"extensions": ["-builtin:mcp"]}, (), False),
        ({"extensions": ["-builtin:mcp", "+builtin:mcp"]}, (), True),
        ({"extensions": ["-builtin:mcp"]}, ("-e", "builtin:mcp"), True),
        ({}, ("-ne",), False),
        ({}, ("-ne", "-e", "builtin:mcp"), True),
        ({}, ("-e", "builtin:codemode"), True),
    ],
)
def test_the_client_is_switched_off_and_on(
    journey: Journey, settings: dict[str, Any], arguments: tuple[str, ...], is_used: bool
) -> None:
    use_servers(journey, sky=WEATHER)
    journey.home.use_settings(**settings)
    ended = journey.pi("-p", "hi", *arguments)
    assert (ended.code, ended.err) == (0, "")
    assert mcp_tools(journey) == (["mcp__sky__weather"] if is_used else [])


def test_nothing_runs_without_a_bundled_extension_that_is_named(journey: Journey) -> None:
    ended = journey.pi("-e", "builtin:permision", "-p", "hi")

    assert ended.code == 1
    assert "There is no bundled extension permision.\nDid you mean permissions?" in ended.err
    assert not journey.model.requests
