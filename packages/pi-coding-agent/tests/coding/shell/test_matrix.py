from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path

import pytest

from pi.base.processes import Child
from pi.coding.shell.local import Ended
from tests.base.processes.children import alive, needs_posix_shell, passing_of
from tests.coding.shell.shells import ShellHarness, shell_harness
from tests.sampling import sampled

pytestmark = needs_posix_shell

STUBBORN = "trap '' TERM INT HUP; while :; do sleep 0.05; done"
DOUBLE_FORK = (
    "python3 -c 'import os, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "time.sleep(600)'"
)

TREES = {
    "a plain child": "sleep 600; :",
    "children of children": "bash -c 'bash -c \"sleep 600\" & sleep 600' & sleep 600",
    "one that ignores signals": f"bash -c {STUBBORN!r}",
    "setsid": "setsid sleep 600 & sleep 600",
    "setsid in the foreground": "setsid --wait sleep 600",
    "nohup": "nohup sleep 600 >/dev/null 2>&1 & sleep 600",
    "a double fork": f"{DOUBLE_FORK}; sleep 600",
    "a stubborn orphan": f"(setsid bash -c {STUBBORN!r} >/dev/null 2>&1 &); sleep 600",
    "disowned": "sleep 600 & disown; sleep 600",
    "an empty environment": "env -i sleep 600 & sleep 600",
    "a pipe": "yes | (sleep 600; cat)",
}


TIMEOUT_SECONDS = 60.0
"""Seconds after which a test fails instead of waiting longer."""


async def processes_run(harness: ShellHarness, count: int) -> None:
    """Wait until ``count`` processes of commands run."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while len(harness.remaining()) < count:
            await passing_of(0.01)


@pytest.mark.behaviour("process-group-is-killed")
@pytest.mark.parametrize("tree", sampled(TREES.values(), keep=3), ids=TREES)
async def test_a_timeout_ends_everything_that_a_command_has_started(
    tmp_path: Path, tree: str
) -> None:
    async with shell_harness(tmp_path) as harness:
        end, text = await harness.run(f"echo begun; {tree}", timeout=0.5)

        assert (end.timed_out, harness.remaining()) == (True, [])
        assert "begun\n".startswith(text)  # nothing, where half a second is too short to begin


@pytest.mark.behaviour("process-group-is-killed")
@pytest.mark.parametrize("tree", sampled(TREES.values(), keep=4), ids=TREES)
async def test_an_abort_ends_all_processes_and_keeps_the_output(tmp_path: Path, tree: str) -> None:
    async with shell_harness(tmp_path) as harness:
        begun = asyncio.Event()
        output = harness.shell.new_output()
        running = asyncio.create_task(
            harness.shell.run(f"echo begun; {tree}", output=output, on_text=lambda _: begun.set())
        )
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await begun.wait()
        await processes_run(harness, 2)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert output.written().tail.content == "begun\n"
        assert harness.remaining() == []


@pytest.mark.behaviour("process-group-is-killed", "background-child-does-not-block")
@pytest.mark.parametrize(
    "background",
    sampled(
        [
            "sleep 600 &",
            "nohup sleep 600 &",
            "setsid sleep 600 &",
            "(sleep 600 &);",
            "nohup setsid sleep 600 >/dev/null 2>&1 &",
            f"{DOUBLE_FORK} &",
            f"(setsid bash -c {STUBBORN!r} &);",
        ],
        keep=3,
    ),
)
async def test_a_call_returns_while_a_background_process_runs_until_the_shell_closes(
    tmp_path: Path, background: str
) -> None:
    async with shell_harness(tmp_path) as harness:
        async with asyncio.timeout(TIMEOUT_SECONDS):  # much less than the background process takes
            end, text = await harness.run(f"{background} echo done")
        await processes_run(harness, 1)

        assert (end, text.splitlines()[-1]) == (Ended(exit_code=0), "done")


NAMELESS = "(setsid env -i bash -c 'echo $$ > {note}; exec sleep 600' &)"
"""A daemon that cannot be traced to its command by parent, session or variables."""


async def noted(note: Path) -> int:
    """The process id that a daemon has written down."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not (note.exists() and note.read_text()):
            await passing_of(0.01)
    return int(note.read_text())


@pytest.mark.behaviour("process-group-is-killed")
async def test_a_nameless_daemon_ends_with_the_timeout_of_its_command(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        note = tmp_path / "pid"
        for timeout in (0.5, 2.0, 8.0):  # the first may be too short to begin
            end, _ = await harness.run(f"{NAMELESS.format(note=note)}; sleep 600", timeout=timeout)
            assert end.timed_out
            if note.exists():
                break

        assert not alive(await noted(note))


@pytest.mark.behaviour("process-group-is-killed")
async def test_a_nameless_daemon_ends_with_the_abort_of_its_command(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        note = tmp_path / "pid"
        running = asyncio.create_task(harness.run(f"{NAMELESS.format(note=note)}; sleep 600"))
        daemon = await noted(note)
        assert alive(daemon)

        running.cancel()
        await asyncio.wait({running})

        assert not alive(daemon)


@pytest.mark.behaviour("process-group-is-killed")
async def test_a_nameless_daemon_that_its_command_left_ends_with_the_shell(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        note = tmp_path / "pid"
        await harness.run(NAMELESS.format(note=note))
        daemon = await noted(note)
        assert alive(daemon)

        await harness.shell.close()

        assert not alive(daemon)


async def test_closing_terminates_only_commands_with_remaining_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminated: list[int] = []
    terminate = Child.terminate

    async def counted(self: Child, **how: float) -> None:
        terminated.append(self.pid)
        await terminate(self, **how)

    monkeypatch.setattr(Child, "terminate", counted)
    async with shell_harness(tmp_path) as harness:
        for _ in range(20):
            await harness.run("true")
        await harness.run("sleep 600 >/dev/null 2>&1 &")
        for _ in range(20):
            await harness.run("true")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while sum(not child.is_gone for child in harness.shell._started) > 1:
                await passing_of(0.01)
        remembered = len(harness.shell._started)
        [remaining_pid] = harness.remaining()

        await harness.shell.close()

        assert (len(terminated), alive(remaining_pid)) == (1, False)
        assert remembered <= 5  # those that ended while the last ones were started


@pytest.mark.behaviour("background-child-does-not-block")
async def test_output_written_just_after_the_end_of_the_shell_is_kept(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        command = "(while kill -0 $$; do :; done; echo late) 2>/dev/null & echo early"

        assert (await harness.run(command))[1] == "early\nlate\n"


@pytest.mark.full
@pytest.mark.behaviour("long-output-is-bounded")
async def test_a_hundred_megabytes_of_output_use_little_memory(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        output = harness.shell.new_output()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        end = await harness.shell.run(
            "head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99", output=output
        )

        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        written = output.written()
        assert end == Ended(exit_code=0)
        assert written.tail.total_bytes == 100_000_000 + 1_010_101
        assert written.tail.total_lines == 1_010_102
        assert Path(written.full_output_path or "").stat().st_size == written.tail.total_bytes
        assert grown < 50_000  # kilobytes


async def test_a_command_that_is_killed_while_it_writes_keeps_its_last_lines(
    tmp_path: Path,
) -> None:
    async with shell_harness(tmp_path) as harness:
        output, many = harness.shell.new_output(), asyncio.Event()
        running = asyncio.create_task(
            harness.shell.run(
                "yes 'the same line'",
                output=output,
                on_text=lambda _: many.set() if output.written().tail.truncated else None,
            )
        )
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await many.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        written = output.written()
        assert written.tail.truncated
        assert set(written.tail.content.split("\n")[1:-1]) == {"the same line"}
        assert Path(written.full_output_path or "").stat().st_size == written.tail.total_bytes


async def test_concurrent_commands_are_independent(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        ends = await asyncio.gather(*(harness.run(f"echo {n}; exit {n}") for n in range(20)))

        assert ends == [(Ended(exit_code=n), f"{n}\n") for n in range(20)]


async def test_closing_the_shell_ends_running_commands_but_no_others(tmp_path: Path) -> None:
    async with shell_harness(tmp_path / "..") as harness, shell_harness(tmp_path) as other:
        running = asyncio.create_task(harness.run("sleep 600", timeout=None))
        await processes_run(harness, 1)
        await other.run("sleep 600 >/dev/null 2>&1 &")
        [bystander] = other.remaining()

        await harness.shell.close()

        assert (await running)[0].signal is not None
        assert alive(bystander)
        os.kill(bystander, 9)
