"""Deferred tools: the model finds them, calls them, and keeps them on the branch of the session."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scripts.workspace import ROOT, find_test
from tests.journeys.json_clients import RpcClient
from tests.journeys.model_server import calls
from tests.journeys.program import Journey

SERVER = Path(__file__).with_name("mcp_server.py")
RESOURCE_SERVER = find_test(ROOT, "batteries/mcp/server_program.py")
WEATHER = "mcp__sky__weather"
EXTENSION = """
from pi.extension import ExtensionAPI, tool

@tool
def count_stars(region: str) -> str:
    "Counts the stars of a region of the sky."
    return f"Many in {region}."

def extension(pi: ExtensionAPI) -> None:
    pi.register_tool(count_stars, exposure="deferred")
"""


def use_server(journey: Journey, **fields: Any) -> None:
    definition = {"command": sys.executable, "args": [str(SERVER)], **fields}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"sky": definition}}))


def added_tools(client: RpcClient) -> list[list[str]]:
    entries = client.request("get_entries")["entries"]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    added = (message.get("toolsAdded") for message in messages if message["role"] == "system")
    return [[tool["name"] for tool in tools] for tools in added if tools]


def test_a_deferred_tool_is_found_called_and_kept_on_its_branch(journey: Journey) -> None:
    use_server(journey, exposure="deferred", description="Knows the sky.")
    journey.model.script(calls("tool_search", query="weather"), calls(WEATHER, city="Rome"))
    journey.model.says("Rain.", "Still.", "Again.", "Other branch.")
    with journey.rpc() as client:
        client.prompts("How is it in Rome?")
        assert "- mcp__sky (tool_search): Knows the sky." in journey.model.prompt_of(0)
        assert [WEATHER in journey.model.tools_of(i) for i in range(3)] == [False, True, True]
        assert journey.model.results_of() == [
            f"Loaded 1 tool. They are available from your next call:\n- {WEATHER}: Describes the"
            " weather.\n(tool of the MCP server sky)".replace("\n(", " ("),
            "Rain in Rome.",
        ]
        assert added_tools(client)[1:] == [[WEATHER]]
        client.prompts("And now?")
        assert WEATHER in journey.model.tools_of()
        path = client.request("get_state")["sessionFile"]
        first = client.request("get_fork_messages")["messages"][0]["entryId"]

    with journey.rpc("--session", path) as client:
        client.prompts("And today?")
        assert WEATHER in journey.model.tools_of(), "the branch keeps its tools"
        client.request("fork", entryId=first)
        client.prompts("Anew?")
        assert "tool_search" in journey.model.tools_of()
        assert WEATHER not in journey.model.tools_of(), "this branch has not searched"


def test_a_tool_of_an_extension_is_found_alike(journey: Journey) -> None:
    file = journey.home.write("extensions/stars.py", EXTENSION)
    journey.model.script(calls("tool_search", query="stars"), calls("count_stars", region="Orion"))
    ended = journey.pi("-p", "How many?", "-e", str(file))
    assert ended.code == 0, ended.err
    assert "count_stars" not in journey.model.tools_of(0)
    assert "count_stars" in journey.model.tools_of(1)
    assert journey.model.results_of()[-1] == "Many in Orion."


def test_a_search_without_a_match_and_a_bad_one_say_so(journey: Journey) -> None:
    use_server(journey, exposure="codemode")
    journey.model.script(
        calls("tool_search", query="zebra"),
        calls("tool_search", query=" "),
        calls("tool_search", query="weather", limit=0),
    )
    assert journey.pi("-p", "go").code == 0
    assert journey.model.results_of() == [
        "No matching tools found.",
        "query must not be empty",
        "limit must be a positive integer",
    ]
    assert WEATHER not in journey.model.tools_of()


def test_exposures_of_single_tools_apply(journey: Journey) -> None:
    use_server(journey, exposure="hidden", toolExposure={"wea*": "direct", "other": "hidden"})
    assert journey.pi("-p", "go").code == 0
    assert WEATHER in journey.model.tools_of()
    assert "tool_search" not in journey.model.tools_of()
    use_server(journey, exposure="direct", toolExposure={"wea*": "direct", "weather": "hidden"})
    assert journey.pi("-p", "go").code == 0
    assert WEATHER not in journey.model.tools_of()


def test_without_tool_search_the_user_is_told_that_tools_cannot_be_reached(
    journey: Journey,
) -> None:
    use_server(journey, exposure="deferred")
    ended = journey.pi("-p", "go", "--tools", "read")
    assert journey.model.tools_of() == ["read"]
    assert "tool_search is not active" in ended.err
    ended = journey.pi("-p", "go", "--tools", "read,tool_search")
    assert journey.model.tools_of() == ["read", "tool_search"]
    assert "tool_search" not in ended.err
    ended = journey.pi("-p", "go", "--tools", f"read,{WEATHER}")
    assert journey.model.tools_of() == ["read", WEATHER], "it is named"


def test_resources_of_a_server_with_an_exposure_have_tools(journey: Journey) -> None:
    command = [sys.executable, "-I", str(RESOURCE_SERVER), "modern"]
    definition = {"command": command[0], "args": command[1:], "exposure": "direct"}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"notes": definition}}))
    journey.model.script(
        calls("list_mcp_resources"),
        calls("read_mcp_resource", server="gone", uri="x"),
    )
    assert journey.pi("-p", "go").code == 0
    listed, refused = journey.model.results_of()
    first = json.loads(listed)["resources"][0]
    assert first["server"] == "notes"
    assert 'MCP server "gone" has no resources. Servers with resources: notes' in refused

    journey.model.script(calls("read_mcp_resource", server="notes", uri=first["uri"]))
    assert journey.pi("-p", "go").code == 0
    assert journey.model.results_of()[0]

    del definition["exposure"]
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"notes": definition}}))
    assert journey.pi("-p", "go").code == 0
    assert "list_mcp_resources" not in journey.model.tools_of()
