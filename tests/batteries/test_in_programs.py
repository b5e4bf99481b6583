"""What bundled systems add to the command line, to JSON mode, to editors and to commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.mock_process import MockProcess
from pi.base.errors import PiError
from pi.cli.arguments import parse_arguments
from pi.cli.extension_options import (
    read_manifest_options,
)
from tests.cli.conftest import cli, mock, server
from tests.cli.program import Program
from tests.cli.test_extension_options import DECLARED, agent
from tests.histories.transcripts import claude_conversation, codex_conversation
from tests.modes.acp.editor import editing
from tests.modes.acp.schema import Json
from tests.modes.acp.test_sessions import calls
from tests.modes.interactive.commands.command_fixture import command_fixture
from tests.modes.rpc.peer import says
from tests.sampling import sampled
from tests.screens.terminal_user import terminal_user

__all__ = ["cli", "mock", "server"]


@pytest.mark.parametrize(
    ("settings", "parameters"),
    sampled(
        [
            (
                {"bash": {"extended": True}, "async": {"enabled": True}},
                ["command", "timeout", "cwd", "env", "pty", "async"],
            ),
            ({"bash": {"enabled": False}}, None),
            ({}, ["command", "timeout"]),
            ({"bash": {"extended": True}}, ["command", "timeout", "cwd", "env", "pty"]),
            ({"async": {"enabled": True}}, ["command", "timeout", "async"]),
        ],
        keep=2,
    ),
)
def test_settings_of_bash_decide_the_parameters_offered_to_the_model(
    cli: Program, server: MockProcess, settings: Any, parameters: list[str] | None
) -> None:
    cli.write("settings.json", json.dumps(settings))

    assert cli.run("-p", "--model", "mock/echo-3", "hello").code == 0

    tools = {
        tool["function"]["name"]: tool["function"]["parameters"]["properties"]
        for tool in json.loads(server.log()[0].body)["tools"]
    }
    assert (sorted(tools["bash"]) if "bash" in tools else None) == (
        parameters and sorted(parameters)
    )


def test_without_extensions_only_guards_have_flags(tmp_path: Path) -> None:
    environ = agent(tmp_path, timer=DECLARED)

    flags = read_manifest_options(parse_arguments(["-ne"]), environ, tmp_path).flags

    assert [flag.name for flag in flags] == ["--permission-mode"]


def test_a_guest_is_not_asked_for_a_model_of_its_own(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    with terminal_user(cli, "join", f"{'A' * 22}.5.{'A' * 43}", in_a_new_home=True) as ada:
        ada.sees("✗ The link names no relay. Set collab.relayUrl")
    with terminal_user(cli, in_a_new_home=True) as ada:
        ada.sees("Welcome to pi")


@pytest.mark.parametrize("setting", sampled([True, False], keep=1))
def test_the_status_lines_are_events_of_json_mode_where_they_are_requested(
    cli: Program, setting: bool
) -> None:
    cli.write("settings.json", json.dumps({"tui": {"statusEngine": setting}}))
    ended = cli.run("--mode", "json", "--model", "mock/echo-3", "hello")

    reported = [json.loads(line) for line in ended.out.splitlines()]
    lines = [event for event in reported if event["type"] == "extension_event"]
    assert ended.code == 0
    assert [(event["name"], event["data"]) for event in lines[:1]] == [
        ("status_engine", {"line2": "echo-3 | work", "line3": None})
    ] * setting
    assert all("since_session_ms" in event for event in lines)


async def test_import_reads_the_sessions_of_another_agent(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        claude_conversation(str(on.fixture.cwd)).write(on.fixture.home)
        codex_conversation("/projects/other").write(on.fixture.home)
        await on.run("/import claude")
        assert "Imported from claude: 1 new, 0 updated, 0 unchanged." in on.screen.printed(100)
        await on.run("/import codex --all")
        assert "Imported from codex: 1 new" in on.screen.printed(100)
        with pytest.raises(PiError, match="Unknown option"):
            await on.run("/import codex --most")


@pytest.mark.parametrize("allowed", sampled([True, False], keep=1))
async def test_permissions_are_asked_of_the_user(tmp_path: Path, allowed: bool) -> None:
    answers = (calls("write", path="new.txt", content="new"), says("ok"))
    async with editing(tmp_path, *answers) as editor:
        requests: list[Json] = []

        def permit(params: Json) -> Json:
            requests.append(params)
            kind = "allow_once" if allowed else "reject_once"
            option = next(option for option in params["options"] if option["kind"] == kind)
            return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

        editor.handlers["session/request_permission"] = permit
        session = await editor.open()
        await editor.result("session/set_mode", sessionId=session, modeId="ask")
        await editor.prompt(session, "Write")

        ended = [update for update in editor.updates if update.get("toolCallId") == "call_write"][
            -1
        ]
        assert requests[0]["toolCall"]["toolCallId"] == "call_write"
        assert "Allow write?" in requests[0]["toolCall"]["content"][-1]["content"]["text"]
        assert {"allow_once", "allow_always", "reject_once"} == {
            option["kind"] for option in requests[0]["options"]
        }
        assert ended["status"] == ("completed" if allowed else "failed")
        assert (editor.project / "new.txt").exists() == allowed


MCP_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}},
                  "serverInfo": {"name": "x", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "greet", "description": "greets",
                             "inputSchema": {"type": "object", "properties": {}}}]}
    else:
        result = {"content": [{"type": "text", "text": "hello from mcp"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def test_mcp_servers_of_the_editor_are_connected(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(MCP_SERVER)
    async with editing(tmp_path, says("ok")) as editor:
        await editor.result("initialize", protocolVersion=1)
        row = {"name": "mine", "command": sys.executable, "args": [str(server)], "env": []}
        session = (await editor.new(mcpServers=[row]))["sessionId"]
        await editor.prompt(session, "/mcp list")

        assert "mine" in editor.text()
        assert not editor.requests  # no consent is asked for: the user's editor named it
