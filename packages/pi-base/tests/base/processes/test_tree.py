from __future__ import annotations

import asyncio
import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pi.base.processes import MARKER, Exit, spawn
from pi.base.processes.tree import ProcessInfo, descendants, from_ps, processes, signal_all
from tests.base.processes.children import (
    ENV,
    HERE,
    TIMEOUT_SECONDS,
    alive,
    bash,
    eventually,
    needs_posix_shell,
)
from tests.sampling import sampled

pytestmark = needs_posix_shell


TREES = {
    "children": "sleep 300 & echo $!; sleep 300 & echo $!; wait",
    "nohup": "nohup sleep 300 >/dev/null 2>&1 & echo $!; wait",
    "setsid": "setsid bash -c 'echo $$; exec sleep 300'; true",
    "double fork": "(setsid bash -c '(echo $BASHPID; exec sleep 300) &'); exec sleep 300",
    "no environment": "env -i setsid bash -c 'echo $$; exec sleep 300'; true",
    "job control": "set -m; (echo $BASHPID; exec sleep 300) & wait",
    "deaf to SIGTERM": "trap '' TERM; echo $$; sleep 300; sleep 300",
    "deaf, moved away and nameless": (
        "env -i setsid bash -c 'trap \"\" TERM; echo $$; sleep 300; sleep 300' & wait"
    ),
}


@pytest.mark.behaviour("process-group-is-killed")
@pytest.mark.parametrize("detached", [False, True], ids=["supervised", "detached"])
@pytest.mark.parametrize("tree", sampled(TREES, keep=3))
async def test_terminating_ends_every_kind_of_descendant(tree: str, detached: bool) -> None:
    async with await bash(TREES[tree], detached=detached) as child:
        pids = [child.pid, *map(int, (await child.output.readline()).split())]
        assert all(map(alive, pids))

        await child.terminate(grace=0.2)

        assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.behaviour("process-group-is-killed")
@pytest.mark.parametrize("tree", [tree for tree in TREES if "deaf" not in tree])
async def test_cancelling_leaves_no_process_behind(tree: str) -> None:
    pids: list[int] = []
    started = asyncio.Event()

    async def work() -> None:
        async with await bash(TREES[tree]) as child:
            pids.extend([child.pid, *map(int, (await child.output.readline()).split())])
            started.set()
            await child.wait()

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [pid for pid in pids if alive(pid)] == []


async def test_cancelling_again_does_not_wait_for_the_grace_period() -> None:
    async with await bash(TREES["deaf to SIGTERM"]) as child:
        await child.output.readline()
        ending = asyncio.create_task(child.terminate(grace=1000))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending

        assert await child.wait() == Exit(signal=signal.SIGKILL)


@pytest.mark.parametrize("turns", range(1, 9))
async def test_cancelling_a_start_at_any_point_leaves_no_process_behind(turns: int) -> None:
    name = os.urandom(8).hex()

    async def work() -> None:
        env = ENV | {"NAME": name}
        async with await spawn(
            ["sleep", "300"], cwd=HERE, env=env, stdin="pipe", errors="separate"
        ) as child:
            await child.wait()

    task = asyncio.create_task(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [entry.pid for entry in processes(name).values() if entry.marked] == []
    await asyncio.sleep(0)
    del task
    gc.collect()  # warns of a pipe that is still open


async def test_a_program_may_clean_up_when_it_is_terminated() -> None:
    script = "trap 'echo cleaned; exit 7' TERM; echo ready; read"
    async with await bash(script, stdin="pipe") as child:
        await child.output.readline()
        await child.terminate()

        assert (await child.wait(), await child.output.read()) == (Exit(exit_code=7), b"cleaned\n")


async def test_leaving_the_context_before_the_program_has_ended_terminates_it() -> None:
    async with await bash("echo $$; exec sleep 300") as child:
        await child.output.readline()

    assert await child.wait() == Exit(signal=signal.SIGTERM)


async def test_an_exception_ends_background_processes_of_an_ended_program() -> None:
    background = 0
    with pytest.raises(ZeroDivisionError):
        async with await bash("sleep 300 & echo $!") as child:
            background = int(await child.output.read())
            raise ZeroDivisionError

    assert not alive(background)


async def test_terminating_a_program_does_not_end_other_processes() -> None:
    async with await bash("echo $$; exec sleep 300") as other, await bash("exit 0") as child:
        await other.output.readline()
        await child.wait()

        await child.terminate()

        assert alive(other.pid)


# The table


def running(pid: int, parent: int, *, group: int = 0, started: str = "1") -> ProcessInfo:
    return ProcessInfo(pid, parent, group, group, started=started, stopped=False, marked=False)


def test_descendants_are_listed_after_their_parents_without_unrelated_processes() -> None:
    table = {
        each.pid: each for each in (running(4, 9), running(9, 2), running(2, 1), running(3, 1))
    }

    assert [each.pid for each in descendants(table, [2])] == [9, 4]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="ps has no start times")
async def test_a_signal_does_not_reach_another_process_with_the_same_id() -> None:
    async with await bash("echo $$; exec sleep 300") as child:
        await child.output.readline()
        listed = processes()[child.pid]
        former = running(child.pid, listed.parent, started="1")

        signal_all([former], signal.SIGKILL)
        assert alive(child.pid)
        signal_all([listed], signal.SIGKILL)
        assert await child.wait() == Exit(signal=signal.SIGKILL)


async def test_a_program_that_was_stopped_can_clean_up() -> None:
    script = (
        "trap 'echo cleaned; exit 7' TERM; echo ready; kill -STOP $$; while :; do sleep 1; done"
    )
    async with await bash(script) as child:
        await child.output.readline()
        eventually(lambda: processes()[child.pid].stopped)
        await child.terminate(grace=TIMEOUT_SECONDS)

        assert (await child.wait(), await child.output.read()) == (Exit(exit_code=7), b"cleaned\n")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="ps has nothing to agree with")
async def test_ps_and_proc_report_the_same_tree() -> None:
    script = f"export ODD=$'two\\nlines'; sleep 300 & echo $! ${MARKER}; wait"
    async with await bash(script) as child:
        background, name = (await child.output.readline()).decode().split()

        by_proc, by_ps = processes(name), from_ps(name)

    def shape(table: dict[int, Any]) -> list[tuple[int, int, bool]]:
        entries = (table[child.pid], table[int(background)])
        return [(entry.parent, entry.group, entry.marked) for entry in entries]

    reaper = by_proc[child.pid].parent
    expected = [(reaper, child.pid, True), (child.pid, child.pid, True)]
    assert (shape(by_proc), shape(by_ps)) == (expected, expected)
    assert not by_proc[os.getpid()].marked
    assert not by_ps[os.getpid()].marked
