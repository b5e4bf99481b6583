"""MCP servers are added in the shell and in a session, switched off by one setting, and end."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.journeys.program import Journey

SERVER = Path(__file__).parent.parent / "batteries" / "mcp" / "server_program.py"
WEATHER = (sys.executable, str(Path(__file__).with_name("mcp_server.py")))


def weather_tools(journey: Journey) -> list[str]:
    return [name for name in journey.model.tools_of() if "weather" in name]


def test_everything_after_two_dashes_is_the_command_of_a_server(journey: Journey) -> None:
    ended = journey.pi("mcp", "add", "fs", "--", "npx", "-y", "@scope/server", "--root", ".")

    assert ended.code == 0, ended.err
    stored = json.loads((journey.home.agent_dir / "mcp.json").read_text())
    assert stored["mcpServers"]["fs"]["command"] == "npx"
    assert stored["mcpServers"]["fs"]["args"] == ["-y", "@scope/server", "--root", "."]


def test_an_argument_with_an_at_sign_is_no_file_for_a_server(journey: Journey) -> None:
    assert journey.pi("mcp", "add", "fs", "npx", "@scope/server").code == 0
    assert journey.pi("mcp", "list").out.startswith("fs: ")


def test_tools_of_an_added_server_are_usable_in_the_same_session(journey: Journey) -> None:
    with journey.terminal() as user:
        user.shows("one")
        user.submits(f"/mcp add sky {shlex.join(WEATHER)}")
        user.sees("Added MCP server sky")
        user.submits("How is the weather?")
        user.sees("All is well.")
    assert weather_tools(journey)


def test_tools_of_an_added_server_are_usable_in_the_same_rpc_session(journey: Journey) -> None:
    with journey.rpc() as client:
        client.request("prompt", message=f"/mcp add sky {shlex.join(WEATHER)}")
        client.prompts("How is the weather?")
    assert weather_tools(journey)


def test_tools_of_an_added_server_are_usable_with_the_next_prompt_of_print_mode(
    journey: Journey,
) -> None:
    ended = journey.pi("-p", f"/mcp add sky {shlex.join(WEATHER)}", "How is the weather?")

    assert ended.code == 0, ended.err
    assert weather_tools(journey)


def test_a_server_that_the_shell_added_is_used_by_the_next_session(journey: Journey) -> None:
    journey.pi("mcp", "add", "sky", "--", *WEATHER)
    journey.pi("-p", "How is the weather?")

    assert weather_tools(journey)


def test_the_setting_that_switches_servers_off_wins_over_their_file(journey: Journey) -> None:
    journey.pi("mcp", "add", "sky", "--", *WEATHER)
    journey.home.use_settings(mcp={"enabled": False, "servers": {"sea": {"command": WEATHER[0]}}})
    journey.pi("-p", "How is the weather?")

    assert weather_tools(journey) == []
    assert "sky: off, as mcp.enabled is false" in journey.pi("mcp", "list").out


def test_a_command_starts_no_server_that_the_setting_switches_off(journey: Journey) -> None:
    journey.pi("mcp", "add", "sky", "--", *WEATHER)
    journey.home.use_settings(mcp={"enabled": False})
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.submits("/mcp list")
        user.sees("sky: off, as mcp.enabled is false")
        user.submits(f"/mcp add sea {shlex.join(WEATHER)}")
        user.sees("No server is used while mcp.enabled is false")
        user.submits("How is the weather?")
        user.sees("All is well.")
        assert weather_tools(journey) == []
        user.submits("/extensions on mcp")
        user.sees("mcp is on")
        user.submits("And now?")
        user.until(lambda: weather_tools(journey) != [], "the tools of the servers")
        user.leaves()


@pytest.mark.parametrize("mode", ["print", "rpc"])
def test_only_an_attended_program_waits_for_a_server_that_ends_late(
    journey: Journey, mode: str
) -> None:
    definition = {"command": sys.executable, "args": ["-I", str(SERVER), "modern", "late"]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"s": definition}}))
    journey.model.says("done")

    if mode == "print":
        assert journey.pi("-p", "go").code == 0
    else:
        with journey.rpc() as client:
            client.prompts("go")

    assert (journey.home.cwd / "ended").exists() == (mode == "rpc")
