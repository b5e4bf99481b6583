"""What ends, ends silently: timers, servers and sharing that stop while work arrives."""

from __future__ import annotations

import json
import sys

from tests.journeys.model_server import calls
from tests.journeys.program import Journey

LATE_SERVER = """\
import json, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = {"resources": [], "resourceTemplates": [], "prompts": []}
    if message["method"] == "initialize":
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "late", "version": "1"},
        }
    elif message["method"] == "tools/list":
        tool = {"name": "echo", "description": "d", "inputSchema": {"type": "object"}}
        result = {"tools": [tool]}
    send({"id": message["id"], "result": result})
send({"method": "notifications/tools/list_changed"})
send({"id": "late-1", "method": "roots/list"})
send({"id": "late-2", "method": "ping"})
"""
"""An MCP server that still sends messages when its input has ended."""


def _use_late_server(journey: Journey) -> None:
    path = journey.home.write("late.py", LATE_SERVER)
    server = {"command": sys.executable, "args": [str(path)]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"late": server}}))


def test_testing_an_mcp_server_that_speaks_at_its_end_writes_one_line(journey: Journey) -> None:
    _use_late_server(journey)

    ended = journey.pi("mcp", "test", "late")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("MCP server late works")
    assert len(ended.out.splitlines()) == 1


def test_a_session_with_an_mcp_server_that_speaks_at_its_end_ends_silently(
    journey: Journey,
) -> None:
    _use_late_server(journey)
    journey.model.calls("mcp_late_echo")

    with journey.rpc() as client:
        client.prompts("call it")
        assert client.close() == 0

    assert client.err == ""
    assert client.events("extension_error") == []


def test_a_prompt_after_sharing_has_stopped_is_answered_without_an_error(journey: Journey) -> None:
    with journey.rpc() as client:
        client.request("prompt", message="/collab")
        client.request("prompt", message="/collab stop")
        client.prompts("go on")
        client.prompts("and on")
        assert client.events("extension_error") == []
    assert client.err == ""


def test_a_todo_list_forgets_closed_tasks_without_a_word(journey: Journey) -> None:
    journey.home.use_settings(todo={"enabled": True}, tasks={"todoClearDelay": 1})
    tasks = {"phase": "Kitchen", "items": ["Bake a cake", "Eat it"]}
    journey.model.script(
        calls("todo", ops=[{"op": "init", "list": [tasks]}]),
        calls("todo", ops=[{"op": "done", "task": "Bake a cake"}]),
    )
    with journey.terminal() as user:
        user.shows("one")
        user.submits("bake")
        user.sees("All is well.")
        user.until(lambda: "Bake a cake" not in _panel(user.screen), "the closed task leaves")
        assert "Eat it" in _panel(user.screen)
        user.submits("/session")
        user.sees("Messages")
        assert "cancelled" not in user.tape


def _panel(screen: str) -> str:
    """The rows between the answer and the prompt editor."""
    return screen.rpartition("All is well.")[2].partition("────")[0]
