from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pi.base.processes import SpawnFailed, run, spawn, supervised
from scripts.workspace import ROOT, import_path
from tests.base.processes.children import (
    ENV,
    HERE,
    alive,
    bash,
    bash_to_end,
    eventually,
    needs_posix_shell,
)
from tests.sampling import sampled

pytestmark = needs_posix_shell

ENVIRON = {**os.environ, "PYTHONPATH": import_path(ROOT)}


@pytest_asyncio.fixture
async def fresh(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[supervised.SupervisorClient]:
    """A separate supervisor that a test may kill."""
    client = supervised.SupervisorClient()
    monkeypatch.setattr(supervised, "SUPERVISOR", client)
    yield client
    client.drop()


def output_of(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRON, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


async def test_the_supervisor_starts_with_the_first_command(
    fresh: supervised.SupervisorClient,
) -> None:
    pids = [fresh.pid or 0]
    for _ in range(2):
        await bash_to_end("true")
        pids.append(fresh.pid or 0)

    none, first, second = pids
    assert (none, first, alive(first)) == (0, second, True)
    fresh.drop()
    eventually(lambda: not alive(first))


async def test_a_killed_supervisor_is_replaced_and_its_commands_keep_running(
    fresh: supervised.SupervisorClient,
) -> None:
    async with await bash("read; echo heard", stdin="pipe") as child:
        before = fresh.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        eventually(lambda: not alive(before))

        assert (await bash_to_end("echo again")).output == b"again\n"
        assert fresh.pid != before
        await child.write(b"\n")
        assert await child.output.read() == b"heard\n"


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/true", ""])
async def test_programs_run_without_a_supervisor_where_there_is_no_python(
    fresh: supervised.SupervisorClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    program: str,
) -> None:
    monkeypatch.setattr(sys, "executable", program)

    with caplog.at_level(logging.WARNING):
        assert (await bash_to_end("echo hi")).output == b"hi\n"

    assert "without a supervisor" in caplog.text


async def test_a_large_environment_is_passed_to_the_program() -> None:
    env = ENV | {f"V{number}": "x" * 100_000 for number in range(8)}

    done = await run(
        ["bash", "-c", "echo ${#V0} ${#V7}"], cwd=HERE, env=env, timeout=60, max_output=100
    )

    assert done.output == b"100000 100000\n"


async def test_a_file_that_is_not_a_program_is_reported(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("not a program")
    text.chmod(0o755)
    env = {"PATH": f"/nowhere:{tmp_path}"}

    for word in ("text", str(text)):
        with pytest.raises(SpawnFailed, match="Exec format error"):
            await spawn([word], cwd=HERE, env=env)
    with pytest.raises(SpawnFailed, match="no such program"):
        await spawn(["bash"], cwd=HERE, env=env)


async def test_files_on_path_that_are_not_executable_are_skipped(tmp_path: Path) -> None:
    for folder, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("#!/bin/sh\necho $0\n")
        (tmp_path / folder / "tool").chmod(mode)
    env = {"PATH": f"{tmp_path}/first:{tmp_path}/second"}

    done = await run(["tool"], cwd=HERE, env=env, timeout=60, max_output=1000)

    assert done.output.decode() == f"{tmp_path}/second/tool\n"


def test_several_threads_start_programs_at_once() -> None:
    outputs: list[bytes] = []

    async def work() -> None:
        ended = await asyncio.gather(*(bash_to_end("echo hi") for _ in range(5)))
        outputs.extend(each.output for each in ended)

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outputs == [b"hi\n"] * 20


@pytest.mark.full
def test_children_of_the_embedding_program_are_not_reaped() -> None:
    program = """
import asyncio, ctypes, os, subprocess
from tests.base.processes.children import bash_to_end
other = subprocess.Popen(["sh", "-c", "exit 3"])
asyncio.run(bash_to_end("sleep 300 & exit 0"))
flag = ctypes.c_int(-1)
ctypes.CDLL(None).prctl(37, ctypes.byref(flag), 0, 0, 0)  # PR_GET_CHILD_SUBREAPER
print(other.wait(), flag.value if os.path.exists("/proc/self") else 0)
"""
    assert output_of(program) == "3 0\n"


def test_a_fork_of_the_program_neither_uses_nor_keeps_alive_its_commands() -> None:
    program = """
import asyncio, os, signal, time
from pi.base.processes import supervised
from tests.base.processes.children import bash, bash_to_end

async def main():
    child = await bash("exec sleep 300")
    print(child.pid, flush=True)
    worker = os.fork()
    if worker == 0:
        assert supervised.SUPERVISOR.pid is None
        time.sleep(300)
    print(worker, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], env=ENVIRON, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        command, worker = int(process.stdout.readline()), int(process.stdout.readline())
        try:
            eventually(lambda: not alive(command))
            assert alive(worker)
        finally:
            os.kill(worker, signal.SIGKILL)


@pytest.mark.full
def test_background_processes_of_a_command_end_with_the_program(tmp_path: Path) -> None:
    program = f"""
import asyncio
from tests.base.processes.children import bash_to_end
daemon = "(setsid env -i bash -c 'echo $$ > {tmp_path}/pid; exec sleep 300' >/dev/null 2>&1 &)"
wait = "until [ -s {tmp_path}/pid ]; do sleep 0.01; done"
asyncio.run(bash_to_end(daemon + "; " + wait))
print(open("{tmp_path}/pid").read(), end="")
"""
    pid = int(output_of(program))

    eventually(lambda: not alive(pid))


STOPS_BOTH = "reaper=$PPID; read -r _ _ _ supervisor _ < /proc/$reaper/stat; "
"""The name of a reaper has no space, so its parent is the fourth field."""


@pytest.mark.parametrize(
    "again", sampled(["", "while :; do kill -STOP $reaper $supervisor; done"], keep=1)
)
async def test_a_command_that_has_stopped_its_reaper_and_the_supervisor_is_killed(
    fresh: supervised.SupervisorClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    monkeypatch.setattr(supervised, "_GRACE_SECONDS", 1.0)
    pids = tmp_path / "pids"
    stop = f"sleep 300 & echo $$ $! > {pids}.new; kill -STOP $reaper $supervisor; "
    command = f"{STOPS_BOTH}{stop}mv {pids}.new {pids}; {again or 'sleep 300; true'}"
    running = asyncio.ensure_future(bash_to_end(command))
    await asyncio.to_thread(eventually, pids.exists)
    found = [int(word) for word in pids.read_text().split()]

    running.cancel()
    async with asyncio.timeout(60):
        await asyncio.wait({running})

    eventually(lambda: not any(map(alive, found)))


@pytest.mark.full
def test_a_command_that_has_stopped_reaper_and_supervisor_ends_when_the_program_is_killed(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    wait = "sleep 0.2"  # until the next reaper is there: it is the one that notices our end
    stop = f"sleep 300 & echo $$ $! > {pids}.new; {wait}; kill -STOP $reaper $supervisor; "
    command = f"{STOPS_BOTH}{stop}mv {pids}.new {pids}; sleep 300; true"
    program = f"""
import asyncio, os, signal
from tests.base.processes.children import bash_to_end
async def main():
    asyncio.ensure_future(bash_to_end({command!r}))
    while not os.path.exists({str(pids)!r}):
        await asyncio.sleep(0.01)
    print(open({str(pids)!r}).read(), end="", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    found = [int(word) for word in output_of(program).split()]

    assert len(found) == 2
    eventually(lambda: not any(map(alive, found)))


async def test_a_stopped_supervisor_is_resumed(
    fresh: supervised.SupervisorClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "_RESUME_SECONDS", 0.05)
    await bash_to_end("true")
    assert fresh.pid is not None
    os.kill(fresh.pid, signal.SIGSTOP)  # a reaper is ready for one more command

    async with asyncio.timeout(60):
        ended = [await bash_to_end("echo done") for _ in range(3)]

    assert [each.output for each in ended] == [b"done\n"] * 3
