"""The program continues despite extensions that are broken, noisy or stuck."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.mock_process import mock_server
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.sampling import sampled

HOSTILE = {
    "syntax": "def extension(",
    "imports": "import nothing_like_this",
    "exits": "import sys\ndef extension(pi): sys.exit(3)",
    "leaves": "raise SystemExit(4)",
    "raises": "def extension(pi):\n    pi.register_flag('x')\n    raise RuntimeError('no')",
    "other_api": "# /// pi\n# api = 99\n# ///\ndef extension(pi): ...",
    "no_function": "WORDS = 3",
    "not_text": "\x00\x01",
}
"""Extensions that cannot be loaded."""
RUDE = """\
import os, subprocess, sys
print("noise of an import")

def extension(pi):
    print("noise of a factory")

    @pi.on("input")
    def talk(event, ctx):
        print("noise of a handler")
        os.write(1, b"noise of a file descriptor\\n")
        subprocess.run(["echo", "noise of a child"])

    @pi.on("agent_start")
    def leave(event, ctx):
        sys.exit(5)

    @pi.on("turn_end")
    async def fail(event, ctx):
        raise RuntimeError("no")

    @pi.command("leave")
    async def leave_too(args, ctx):
        sys.exit(6)

    @pi.command("model")
    async def model(args, ctx): ...
"""
STUCK = """\
import sys

def extension(pi):
    @pi.on("input")
    def stay(event, ctx):
        sys.stderr.write("stuck\\n")
        sys.stderr.flush()
        while True:
            pass
"""


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Program]:
    program = Program.below(tmp_path)
    with mock_server() as server:
        program.use_server(server.port)
        yield program


def test_an_rpc_client_is_served_despite_hostile_extensions(cli: Program) -> None:
    for name, code in HOSTILE.items():
        cli.write(f"extensions/{name}.py", code)
    cli.write("extensions/rude.py", RUDE)
    requests = (
        {"id": "1", "type": "get_commands"},
        {"id": "2", "type": "prompt", "message": "/leave"},
        {"id": "3", "type": "prompt", "message": "hello"},
    )

    with cli.start("--mode", "rpc", "--model", "mock/echo-3") as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        for request in requests:
            child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        reported = []
        for line in child.stdout:
            reported.append(json.loads(line))  # every line is a record, even if extensions print
            if reported[-1]["type"] == "agent_settled":
                break
        child.stdin.close()
        reported += map(
            json.loads, child.stdout
        )  # not via the descriptor: lines are already buffered
        complaints = child.stderr.read()
        child.wait(TIMEOUT_SECONDS)

    assert child.returncode == 0
    answers = {each["id"]: each for each in reported if each["type"] == "response"}
    assert [answers[id]["success"] for id in ("1", "2", "3")] == [True, True, True]
    assert answers["1"]["data"]["commands"][0]["name"] == "leave"  # bundled commands follow
    failed = {each["event"] for each in reported if each["type"] == "extension_error"}
    assert failed == {"command", "agent_start", "turn_end"}
    report = complaints.decode()
    for name in HOSTILE:
        assert f"{name}.py was not loaded" in report
    for noise in ("an import", "a factory", "a handler", "a file descriptor", "a child"):
        assert f"noise of {noise}\n" in report


@pytest.mark.full
def test_an_extension_that_cancels_every_task_ends_pi_with_one_error(
    cli: Program,
) -> None:
    cancel = "[task.cancel() for task in asyncio.all_tasks()]"
    handler = f"import asyncio\nasync def handle(event, ctx): {cancel}\n"
    cli.write("extensions/force.py", f"{handler}def extension(pi): pi.on('input')(handle)")

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert ended.code == 1
    assert "Error: pi was ended: code of an extension cancelled its main task" in ended.err
    assert "Traceback" not in ended.err


EXITS = {
    "a callback": "asyncio.get_running_loop().call_soon(sys.exit, 3)",
    "an interrupting callback": "asyncio.get_running_loop().call_soon(interrupt)",
    "a task": "asyncio.create_task(leave())",
    "a task of its scope": "SCOPE[0].spawn(leave(), name='leave')",
    "a handler": "interrupt()",
    "a task that is cancelled": "TASKS.append(asyncio.create_task(leave_late()))",
}
"""Ways to raise ``SystemExit`` or ``KeyboardInterrupt`` outside of a contained call."""
EXITING = """\
import asyncio, sys

SCOPE, TASKS = [], []

def interrupt():
    raise KeyboardInterrupt

async def leave():
    sys.exit(7)

async def leave_late():
    try:
        await asyncio.Event().wait()
    finally:
        sys.exit(8)

def extension(pi):
    SCOPE.append(pi.scope)

    @pi.on("input")
    async def handle(event, ctx):
        {code}
"""
CONTINUES = ("; pi goes on.", "Extension error (")


@pytest.mark.parametrize("code", sampled(EXITS.values(), keep=2), ids=EXITS)
def test_an_extension_that_exits_in_the_event_loop_does_not_end_the_run(
    cli: Program, code: str
) -> None:
    cli.write("extensions/exits.py", EXITING.replace("{code}", code))

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert (ended.code, ended.out) == (0, "The quick brown\n"), ended.err
    (line,) = ended.err.splitlines()
    assert any(part in line for part in CONTINUES), line


@pytest.mark.parametrize(
    "exit_function",
    ["__import__('sys').exit", "__import__('builtins').exit"],  # the second closes stdin too
)
def test_an_extension_whose_callback_exits_does_not_end_rpc(
    cli: Program, exit_function: str
) -> None:
    code = f"asyncio.get_running_loop().call_soon({exit_function})"
    cli.write("extensions/exits.py", EXITING.replace("{code}", code))
    requests = [
        {"type": "prompt", "message": "hello", "id": "1"},
        {"type": "get_state", "id": "2"},
    ]

    piped = "".join(f"{json.dumps(request)}\n" for request in requests)
    ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", piped=piped)

    records = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 0, ended.err
    assert sorted(record["id"] for record in records if record["type"] == "response") == ["1", "2"]
    assert "agent_settled" in [record["type"] for record in records]
    (line,) = ended.err.splitlines()
    assert line.endswith("; pi goes on.")


@pytest.mark.full
@pytest.mark.slow
def test_a_task_that_ignores_cancellation_does_not_prevent_exit(cli: Program) -> None:
    stubborn = """\
import asyncio

async def stay():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

def extension(pi):
    pi.on("input")(lambda event, ctx: TASKS.append(asyncio.create_task(stay())))

TASKS = []
"""
    cli.write("extensions/stubborn.py", stubborn)

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert (ended.code, ended.out) == (0, "The quick brown\n")
    assert "did not stop within 5 seconds and were abandoned" in ended.err


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_pi_if_a_handler_never_returns(cli: Program) -> None:
    cli.write("extensions/stuck.py", STUCK)
    with cli.start("-p", "--model", "mock/echo-3", "hello", stdin=subprocess.DEVNULL) as child:
        try:
            assert child.stderr is not None
            assert child.stderr.readline() == b"stuck\n"
            assert b"stuck.py is blocking in stay. Press Ctrl+C to quit." in child.stderr.readline()
            child.send_signal(signal.SIGINT)
            assert child.wait(timeout=TIMEOUT_SECONDS) == -signal.SIGINT
        finally:
            child.kill()
