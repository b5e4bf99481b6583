"""Programs started by pi when pi exits, is terminated or is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.base.processes.children import alive, eventually, needs_posix_shell
from tests.cli.program import Program
from tests.sampling import sampled
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = needs_posix_shell

EXTENSION = """\
import asyncio

def extension(pi):
    async def work():
        await pi.spawn(["bash", "-c", "echo $$ > {folder}/spawned; exec sleep 600"])
        await pi.spawn(
            ["bash", "-c", "echo $$ > {folder}/detached; exec sleep 600"], detached=True
        )
        await pi.exec(["bash", "-c", "echo $$ > {folder}/executed; exec sleep 600"])

    @pi.on("session_start")
    def begin(event, ctx):
        pi.scope.spawn(work(), name="work")
"""
DAEMON = "(setsid env -i bash -c 'echo $$ > {folder}/daemon; exec sleep 600' >/dev/null 2>&1 &)"
UNTIL_DAEMON = "until [ -s {folder}/daemon ]; do sleep 0.01; done"


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    use_key(program, model, "k")
    return program


def use_key(cli: Program, model: LoopbackModel, key: str) -> None:
    provider = {
        "baseUrl": model.url,
        "apiKey": key,
        "api": "openai-completions",
        "models": [{"id": "m"}],
    }
    cli.write("models.json", json.dumps({"providers": {"mine": provider}}))


def noted(folder: Path, name: str) -> int:
    """Return the process id that a program has written to a file; 0 if there is none."""
    try:
        return int((folder / name).read_text())
    except (OSError, ValueError):
        return 0


@pytest.mark.full
def test_all_started_programs_end_when_pi_is_killed_except_detached_ones(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    cli.write("extensions/busy.py", EXTENSION.format(folder=tmp_path))
    daemon = DAEMON.format(folder=tmp_path)
    model.command = f"{daemon}; trap '' TERM; echo $$ > {tmp_path}/tool; while :; do sleep 1; done"
    names = ("spawned", "executed", "daemon", "tool", "user", "detached")
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None
        command = f"echo $$ > {tmp_path}/user; exec sleep 600"
        for request in (
            {"type": "prompt", "message": "go"},
            {"type": "bash", "command": command},
        ):
            pi.stdin.write(json.dumps(request).encode() + b"\n")
            pi.stdin.flush()
        eventually(lambda: all(noted(tmp_path, name) for name in names))
        pids = {name: noted(tmp_path, name) for name in names}
        assert [name for name in names if not alive(pids[name])] == []

        pi.kill()
        pi.communicate()

    detached = pids.pop("detached")
    try:
        eventually(lambda: not any(alive(pid) for pid in pids.values()))
        assert alive(detached)
    finally:
        os.kill(detached, signal.SIGKILL)
    texts = json.dumps(cli.sessions())
    assert ('"go"' in texts, str(tmp_path / "tool") in texts) == (True, True)


def test_an_api_key_command_ends_when_pi_is_killed(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    use_key(cli, model, f"!echo $$ > {tmp_path}/key; exec sleep 600")
    with cli.start("-p", "--model", "mine/m", "hello", stdin=subprocess.DEVNULL) as pi:
        eventually(lambda: noted(tmp_path, "key") > 0)
        assert alive(noted(tmp_path, "key"))
        pi.kill()
        pi.communicate()

    eventually(lambda: not alive(noted(tmp_path, "key")))


@pytest.mark.full
def test_daemons_end_with_pi_and_detached_programs_are_listed(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    cli.write("extensions/busy.py", EXTENSION.format(folder=tmp_path))
    wait = f"until [ -s {tmp_path}/detached ]; do sleep 0.01; done"
    model.command = f"{DAEMON}; {UNTIL_DAEMON}; {wait}".format(folder=tmp_path)

    ended = cli.run("-p", "--model", "mine/m", "go")

    detached = noted(tmp_path, "detached")
    try:
        assert (ended.code, ended.out) == (0, "All is well.\n")
        assert not alive(noted(tmp_path, "daemon"))
        assert alive(detached)
        (line,) = [line for line in ended.err.splitlines() if "detached" in line]
        assert line.startswith("Still running, detached by extensions: bash -c echo $$ > ")
        assert line.endswith(f"(pid {detached})")
    finally:
        os.kill(detached, signal.SIGKILL)


def test_a_run_without_commands_starts_no_process(cli: Program, tmp_path: Path) -> None:
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import os, sys\n"
        "def hook(event, arguments):\n"
        "    if event in ('subprocess.Popen', 'os.fork', 'os.posix_spawn', 'os.exec'):\n"
        "        os.write(2, f'started {arguments}'.encode())\n"
        "sys.addaudithook(hook)\n"
    )
    cli.environ["PYTHONPATH"] = str(tmp_path)

    ended = cli.run("-p", "--model", "mine/m", "hello")

    assert (ended.code, ended.out, ended.err) == (0, "All is well.\n", "")


SHARED = """\
def extension(pi):
    async def make(scope):
        scope.on_close(lambda: open({path!r}, "a").write("closed\\n"))
        return "a server"

    @pi.on("session_start")
    async def begin(event, ctx):
        await pi.shared("server", make, linger=600)
"""


@pytest.mark.parametrize("mode", sampled(["text", "json", "rpc"], keep=1))
def test_shared_objects_that_linger_are_closed_when_pi_ends(
    cli: Program, tmp_path: Path, mode: str
) -> None:
    cli.write("extensions/shared.py", SHARED.format(path=str(tmp_path / "noted")))
    words = ("--mode", mode, "--model", "mine/m")

    ended = cli.run(*words) if mode == "rpc" else cli.run("-p", *words, "hello")

    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "noted").read_text() == "closed\n"


@pytest.mark.full
def test_shared_objects_are_closed_when_a_signal_ends_pi(cli: Program, tmp_path: Path) -> None:
    cli.write("extensions/shared.py", SHARED.format(path=str(tmp_path / "noted")))
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None and pi.stdout is not None
        pi.stdin.write(b'{"type": "get_state"}\n')
        pi.stdin.flush()
        pi.stdout.readline()
        pi.send_signal(signal.SIGTERM)
        pi.communicate()

    assert pi.returncode == 128 + signal.SIGTERM
    assert (tmp_path / "noted").read_text() == "closed\n"
