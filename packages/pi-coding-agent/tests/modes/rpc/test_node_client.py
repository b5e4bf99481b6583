"""Clients in Node: pi's own starts ``node <path>``, which is what ``launcher.mjs`` is for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.modes.golden.model_server import EVERYTHING, model_server
from tests.modes.golden.replay_home import ReplayHome
from tests.modes.rpc.peer import says, talking

HERE = Path(__file__).parent
LAUNCHER = HERE / "launcher.mjs"
PI = json.dumps([sys.executable, "-m", "pi"])

Program = Callable[[str, str], str]


async def test_a_client_can_start_pi_through_node_prompt_and_stop_it(
    tmp_path: Path, program: Program
) -> None:
    node = program("node", "pi's own RpcClient as a peer")
    async with model_server([says("hel", "lo")]) as models:
        await models.allow(EVERYTHING)
        replay_home = ReplayHome(tmp_path / "lab", models.url)
        client = await asyncio.create_subprocess_exec(
            *(node, str(HERE / "client.mjs"), str(LAUNCHER), "--model", "mock/mock-r"),
            cwd=replay_home.project,
            stdout=asyncio.subprocess.PIPE,
            env={"HOME": str(replay_home.home), "PATH": os.environ["PATH"], "PI_COMMAND": PI},
        )
        output, _ = await asyncio.wait_for(client.communicate(), 30)
    seen = json.loads(output)

    assert seen["state"]["data"]["model"]["id"] == "mock-r"
    assert seen["prompted"] == {
        "id": "req_2",
        "type": "response",
        "command": "prompt",
        "success": True,
        "data": {"disposition": "started"},
    }
    assert seen["text"]["data"] == {"text": "hello"}
    assert [event["type"] for event in seen["events"]][-1] == "agent_settled"
    assert (seen["code"], seen["errors"]) == (143, "")


async def test_a_launcher_that_cannot_start_pi_reports_it_and_exits(
    tmp_path: Path, program: Program
) -> None:
    node = program("node", "the launcher for Node programs")
    command = (node, str(LAUNCHER), "--mode", "rpc")
    environ = {"PI_COMMAND": json.dumps(["/nowhere/pi"])}
    async with talking(tmp_path, command=command, environ=environ) as peer:
        assert await peer.exit_code() == 127
        assert peer.errors.startswith("Cannot start /nowhere/pi: ")


async def test_the_launcher_forwards_input_output_and_the_end_of_input(
    tmp_path: Path, program: Program
) -> None:
    node = program("node", "the launcher for Node programs")
    command = (node, str(LAUNCHER), "--mode", "rpc")
    async with talking(tmp_path, command=command, environ={"PI_COMMAND": PI}) as peer:
        answer = await peer.answer({"id": 1, "type": "get_messages"})

        assert answer["data"] == {"messages": []}
        assert await peer.ended() == 0
