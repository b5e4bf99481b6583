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


CANCELS = """\
import asyncio

def extension(pi):
    async def cancel_everything(event, ctx):
        for task in asyncio.all_tasks():
            task.cancel()

    for name in ("session_start", "input", "agent_start", "message_update", "turn_end"):
        pi.on(name)(cancel_everything)
"""


@pytest.mark.full
@pytest.mark.parametrize("mode", sampled(["text", "json"], keep=1))
def test_an_extension_that_cancels_every_task_does_not_end_the_run(cli: Program, mode: str) -> None:
    cli.write("extensions/cancels.py", CANCELS)

    ended = cli.run("-p", "--mode", mode, "--model", "mock/echo-3", "hello")

    assert ended.code == 0, ended.err
    assert "The quick brown" in ended.out
    assert "Traceback" not in ended.err


def test_an_extension_that_cancels_every_task_does_not_end_rpc(cli: Program) -> None:
    cli.write("extensions/cancels.py", CANCELS)
    requests = [
        {"type": "prompt", "message": "hello", "id": "1"},
        {"type": "get_state", "id": "2"},
    ]
    piped = "".join(f"{json.dumps(each)}\n" for each in requests)

    ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", piped=piped)

    records = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 0, ended.err
    assert sorted(each["id"] for each in records if each["type"] == "response") == ["1", "2"]
    assert "agent_settled" in [each["type"] for each in records]


LATER = """\
import asyncio

def raise_exit():
    raise GeneratorExit

def extension(pi):
    async def schedule(event, ctx):
        loop = asyncio.get_running_loop()
        loop.call_soon(raise_exit)
        loop.call_soon(loop.stop)
        loop.stop()
        for task in asyncio.all_tasks():
            loop.call_soon(task.cancel)
            loop.call_later(0.01, task.cancel)

    for name in ("session_start", "input", "agent_start", "turn_end"):
        pi.on(name)(schedule)
"""


@pytest.mark.full
def test_callbacks_of_an_extension_neither_cancel_tasks_nor_stop_the_loop(cli: Program) -> None:
    cli.write("extensions/later.py", LATER)

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert ended.code == 0, ended.err
    assert "The quick brown" in ended.out
    assert "Traceback" not in ended.err


@pytest.mark.full
def test_a_main_task_cancelled_forcibly_by_an_extension_ends_with_one_error(
    cli: Program,
) -> None:
    cancel = "[asyncio.Task.cancel(task) for task in asyncio.all_tasks()]"
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


CLOSES = """\
import asyncio

def extension(pi):
    @pi.on("input")
    async def handle(event, ctx):
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                {code}
"""
SERVED = [{"type": "prompt", "message": "hello", "id": "1"}, {"type": "get_state", "id": "2"}]


@pytest.mark.parametrize(
    "code",
    sampled(
        [
            "task.get_coro().close()",
            "task._coro.throw(SystemExit(4))",
            "getattr(task.get_coro().cr_await, 'close', str)()",
            "asyncio.get_running_loop().call_soon(__import__('sys').exit)",
            "asyncio.get_running_loop().call_soon(__import__('builtins').exit)",  # closes stdin too
            "asyncio.get_running_loop().call_soon(task.cancel)",
        ],
        keep=2,
    ),
)
def test_an_extension_that_closes_coroutines_of_pi_does_not_end_rpc(
    cli: Program, code: str
) -> None:
    cli.write("extensions/closes.py", CLOSES.replace("{code}", code))

    piped = "".join(f"{json.dumps(each)}\n" for each in SERVED)
    ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", piped=piped)

    records = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 0, ended.err
    assert sorted(each["id"] for each in records if each["type"] == "response") == ["1", "2"]
    assert "agent_settled" in [each["type"] for each in records]
    (line,) = ended.err.splitlines()
    assert line.endswith("; pi goes on.")
    assert "closes.py" in line or "exit" not in code


@pytest.mark.full
def test_forcibly_closed_coroutines_end_pi_with_one_error(cli: Program) -> None:
    closing = "[asyncio.Task.get_coro(task).close()]"
    force = f"try: {closing}\n                except RuntimeError: pass"
    cli.write("extensions/closes.py", CLOSES.replace("{code}", force))

    piped = f"{json.dumps(SERVED[0])}\n"
    ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", piped=piped)

    assert ended.code == 1
    assert ended.err.splitlines()[0] == (
        "Error: pi was ended: code of an extension closed its coroutines."
    )


@pytest.mark.full
@pytest.mark.parametrize("end", sampled(["close()", "throw(SystemExit(4))"], keep=1))
def test_pi_exits_with_an_error_if_coroutines_are_closed_via_the_garbage_collector(
    cli: Program, end: str
) -> None:
    cli.write(
        "extensions/closes.py",
        f"""\
import contextlib, gc, inspect

def extension(pi):
    @pi.on("turn_end")
    async def close(event, ctx):
        for each in gc.get_objects():
            if inspect.iscoroutine(each):
                with contextlib.suppress(BaseException):
                    each.{end}
""",
    )

    ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert ended.code == 1
    assert ended.err.splitlines() == [
        "Error: pi was ended: code of an extension closed its coroutines.",
        "Use -ne to start without extensions.",
    ]


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
