"""The official SDKs and acpx as clients; ``scripts/oracles`` installs them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.modes.acp.schema import FILE
from tests.modes.acp.test_sessions import calls, thinks
from tests.modes.golden.model_answers import Answer
from tests.modes.golden.model_server import EVERYTHING, model_server
from tests.modes.golden.replay_home import ReplayHome
from tests.modes.rpc.peer import calls_bash, says

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
ORACLES = HERE.parents[2] / ".oracles"
NODE_SDK = ORACLES / "node" / "node_modules" / "@agentclientprotocol" / "sdk"
ACPX = ORACLES / "node" / "node_modules" / ".bin" / "acpx"
PYTHON = ORACLES / "python" / "bin" / "python"
BETA = [{"oldText": "beta", "newText": "BETA"}]
TASKS = [{"op": "init", "list": [{"phase": "Work", "items": ["read", "write"]}]}]


def script() -> list[Answer]:
    """The answers of the model to the prompts of both clients, in order."""
    return [
        thinks("Hm.", "Hel", "lo"),
        calls("edit", path="a.txt", edits=BETA),
        calls("todo", ops=TASKS),
        calls_bash("echo out"),
        says("done"),
        says("Hel", hangs=True),
        calls_bash("sleep 60"),
    ]


async def run_client(tmp_path: Path, *command: str) -> dict[str, Any]:
    """What a client reports in JSON about its session with pi."""
    async with model_server(script()) as models:
        await models.allow(EVERYTHING)
        home = ReplayHome(tmp_path / "lab", models.url)
        home.write_settings(
            {"todo": {"enabled": True, "reminders": 0}, "permissions": {"mode": "ask"}}
        )
        client = await asyncio.create_subprocess_exec(
            *command,
            cwd=home.project,
            stdout=asyncio.subprocess.PIPE,
            env={
                "HOME": str(home.home),
                "PATH": os.environ["PATH"],
                "PI_COMMAND": json.dumps(
                    [sys.executable, "-m", "pi", "acp", "--model", "mock/mock-r"]
                ),
                "SDK": str(NODE_SDK / "dist" / "v1" / "stable"),
            },
        )
        output, _ = await asyncio.wait_for(client.communicate(), 60)
    assert client.returncode == 0
    return dict(json.loads(output))


def check(seen: dict[str, Any]) -> None:
    """Both clients must have seen the same."""
    assert seen["text"] == "Hello"
    assert seen["thought"] == "Hm."
    assert seen["stopped"] == ["end_turn", "end_turn", "cancelled", "cancelled"]
    assert seen["permissions"] == ["call_edit", "call_todo", "call_1", "call_1"]
    assert seen["written"] == "alpha\nBETA\ngamma\n"
    assert seen["plan"] == ["read", "write"]
    assert seen["terminal"] == ["create", "release", "create", "kill", "release"]
    assert seen["listed"] == 2
    assert seen["replayed"] > 5
    assert {
        *("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"),
        *("available_commands_update", "current_mode_update", "config_option_update"),
        *("usage_update", "user_message_chunk"),
    } <= set(seen["kinds"])
    assert seen["unknown"] == -32601


async def test_the_python_sdk_drives_a_session(tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("needs scripts/oracles")
    check(await run_client(tmp_path, str(PYTHON), str(HERE / "sdk_client.py")))


async def test_the_typescript_sdk_drives_a_session(tmp_path: Path, program: Any) -> None:
    node = program("node", "the TypeScript SDK as a peer")
    if not NODE_SDK.exists():
        pytest.skip("needs scripts/oracles")
    check(await run_client(tmp_path, node, str(HERE / "sdk_client.mjs")))


async def test_acpx_drives_a_session(tmp_path: Path, program: Any) -> None:
    """A client for the command line that others have written."""
    program("node", "acpx as a client")
    if not ACPX.exists():
        pytest.skip("needs scripts/oracles")
    agent = f"{sys.executable} -m pi acp --model mock/mock-r"
    options = ("--format", "json", "--json-strict", "--timeout", "50", "--agent", agent)
    answers = [thinks("Hm.", "Hel", "lo"), calls("edit", path="a.txt", edits=BETA), says("done")]
    async with model_server(answers) as models:
        await models.allow(EVERYTHING)
        home = ReplayHome(tmp_path / "lab", models.url)
        home.write_settings({"permissions": {"mode": "ask"}})
        seen = []
        for policy, prompt in ("--deny-all", "hello"), ("--approve-all", "edit"):
            client = await asyncio.create_subprocess_exec(
                *(str(ACPX), policy, *options, "exec", prompt),
                cwd=home.project,
                stdout=asyncio.subprocess.PIPE,
                env={"HOME": str(home.home), "PATH": os.environ["PATH"]},
            )
            output, _ = await asyncio.wait_for(client.communicate(), 60)
            assert client.returncode == 0
            seen.append(output.decode())
    assert '"agent_thought_chunk"' in seen[0]
    assert '"stopReason":"end_turn"' in seen[0]
    assert '"session/request_permission"' in seen[1]
    assert (home.project / "a.txt").read_text() == "alpha\nBETA\ngamma\n"


def test_the_schema_is_the_published_one() -> None:
    if not NODE_SDK.exists():
        pytest.skip("needs scripts/oracles")
    published = json.loads((NODE_SDK / "schema" / "v1" / "schema.json").read_text("utf-8"))
    ours = json.loads(FILE.read_text("utf-8"))
    ours.pop("$comment")

    assert ours == _without_texts(published)


def _without_texts(value: Any, *, are_names: bool = False) -> Any:
    if isinstance(value, list):
        return [_without_texts(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_texts(member, are_names=key in ("properties", "$defs") and not are_names)
        for key, member in value.items()
        if are_names
        or (
            key not in ("description", "title", "default", "discriminator")
            and (key == "x-method" or not key.startswith("x-"))
        )
    }
