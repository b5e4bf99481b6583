from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from pi.base import processes
from pi.base.processes import (
    MARKER,
    MOST_WAITING,
    QUIET_AFTER_EXIT,
    Child,
    Exit,
    Finished,
    SpawnFailed,
    allow_listed,
    run,
    spawn,
    without,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for a POSIX shell")

ENV = {"PATH": os.environ.get("PATH", os.defpath)}
HERE = Path("/")


def bash(script: str, **options: Any) -> Coroutine[Any, Any, Child]:
    return spawn(["bash", "-c", script], cwd=HERE, env=ENV, **options)


def bash_to_end(script: str, **options: Any) -> Coroutine[Any, Any, Finished]:
    settings: dict[str, Any] = {"cwd": HERE, "env": ENV, "timeout": 20, "max_output": 1000}
    return run(["bash", "-c", script], **(settings | options))


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has reaped yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip() != "" and not state.stdout.startswith("Z")


# Starting


async def test_a_child_has_the_given_environment_its_marker_and_nothing_else() -> None:
    done = await run(["env"], cwd=HERE, env={"A": "1"}, timeout=20, max_output=1000)

    variables = dict(line.split("=", 1) for line in done.output.decode().splitlines())
    assert variables == {"A": "1", MARKER: variables[MARKER]}
    assert len(variables[MARKER]) == 16


async def test_a_child_of_a_child_of_ours_carries_both_markers() -> None:
    env = ENV | {MARKER: "outer"}

    done = await run(["printenv", MARKER], cwd=HERE, env=env, timeout=20, max_output=1000)

    outer, inner = done.output.decode().strip().split(".")
    assert (outer, len(inner)) == ("outer", 16)


async def test_a_child_starts_in_its_directory_in_a_session_of_its_own(tmp_path: Path) -> None:
    async with await spawn(
        ["bash", "-c", "pwd; read"], cwd=tmp_path, env=ENV, stdin="pipe"
    ) as child:
        assert await child.output.readline() == f"{tmp_path.resolve()}\n".encode()
        assert os.getsid(child.pid) == os.getpgid(child.pid) == child.pid


async def test_a_child_has_nothing_to_read_unless_asked_for() -> None:
    assert await bash_to_end("cat; echo end") == Finished(exit_code=0, output=b"end\n")


async def test_a_child_inherits_no_file_descriptors() -> None:
    reader, writer = os.pipe()
    try:
        os.set_inheritable(writer, True)
        done = await bash_to_end(f"echo leaked 2>/dev/null >&{writer}")
    finally:
        os.close(reader)
        os.close(writer)

    assert done.exit_code == 1


async def test_what_cannot_be_started_is_told_in_one_line(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    missing = tmp_path / "missing"

    async def problem(program: str, cwd: Path) -> str:
        with pytest.raises(SpawnFailed) as caught:
            await spawn([program], cwd=cwd, env=ENV)
        return caught.value.explain()

    assert [
        await problem("no-such-program", tmp_path),
        await problem(str(plain), tmp_path),
        await problem("ls", missing),
        await problem("ls", plain),
        await problem("ls\0", tmp_path),
    ] == [
        "Cannot start no-such-program: there is no such program."
        " Install it, or check its name and PATH.",
        f"Cannot start {plain}: Permission denied.",
        f"Cannot start ls: the working directory {missing} does not exist.",
        f"Cannot start ls: the working directory {plain} is not a directory.",
        "Cannot start ls\0: embedded null byte.",
    ]


# Reading, writing, waiting


async def test_standard_error_is_merged_in_order_or_kept_apart() -> None:
    script = "echo one; echo two >&2; echo three"

    async with await bash(script) as child:
        merged = await child.output.read(), await child.errors.read()
    apart = await bash_to_end(script)

    assert merged == (b"one\ntwo\nthree\n", b"")
    assert apart == Finished(exit_code=0, output=b"one\nthree\n", errors=b"two\n")


async def test_output_appears_while_the_program_runs() -> None:
    async with await bash("echo ready; read answer; echo got $answer", stdin="pipe") as child:
        assert await child.output.readline() == b"ready\n"
        await child.write(b"it\n")
        assert await child.output.readline() == b"got it\n"


@pytest.mark.trap(97)
async def test_death_by_a_signal_is_a_failure_and_keeps_what_was_written() -> None:
    done = await bash_to_end("echo before; kill -SEGV $$")

    assert done == Finished(signal=signal.SIGSEGV, output=b"before\n")
    assert not done.ok


async def test_the_exit_code_says_whether_a_program_succeeded() -> None:
    ended = [await bash_to_end(f"exit {code}") for code in (0, 3)]

    assert ended == [Finished(exit_code=0), Finished(exit_code=3)]
    assert [end.ok for end in ended] == [True, False]


async def test_large_input_and_output_flow_at_the_same_time() -> None:
    data = os.urandom(5_000_000)

    done = await run(["cat"], cwd=HERE, env=ENV, timeout=20, max_output=len(data), input=data)

    assert done == Finished(exit_code=0, output=data)


async def test_two_writers_take_turns() -> None:
    parts = [bytes([letter]) * 300_000 for letter in b"ab"]

    async with await spawn(["cat"], cwd=HERE, env=ENV, stdin="pipe") as child:

        async def write_all() -> None:
            async with asyncio.TaskGroup() as tasks:
                for part in parts:
                    tasks.create_task(child.write(part))
            child.close_stdin()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write_all())
            received = tasks.create_task(child.output.read())

    assert received.result() == b"".join(parts)


async def test_input_that_nobody_reads_ends_with_the_program() -> None:
    async with await bash("exec 3<&0; sleep 300 <&3 & read -n 1", stdin="pipe") as child:
        with pytest.raises(ConnectionError):  # although the background process holds the pipe
            await child.write(b"x" * 1_000_000)
        with pytest.raises(ConnectionError):
            await child.write(b"more")
        assert await child.wait() == Exit(exit_code=0)
        await child.terminate()

    assert await bash_to_end("exit 0", input=b"x" * 1_000_000) == Finished(exit_code=0)


async def test_a_hundred_megabytes_pass_in_small_pieces() -> None:
    size = 100_000_000
    sizes = []
    async with await spawn(["head", "-c", str(size), "/dev/zero"], cwd=HERE, env=ENV) as child:
        while chunk := await child.output.read(MOST_WAITING):
            sizes.append(len(chunk))

    assert sum(sizes) == size


async def test_a_reader_that_is_away_does_not_fill_the_memory() -> None:
    async with await spawn(["yes"], cwd=HERE, env=ENV) as child:
        await passing_of(0.2)
        waiting = await child.output.read(100 * MOST_WAITING)

    assert 0 < len(waiting) <= 2 * MOST_WAITING


async def passing_of(seconds: float) -> None:
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, passed.set)
    await passed.wait()


# Background processes


@pytest.mark.trap(96)
async def test_reading_ends_with_the_program_although_a_background_process_holds_the_pipe() -> None:
    async with await bash("sleep 300 & echo $!") as child:
        background = int(await child.output.read())
        assert await child.wait() == Exit(exit_code=0)

    assert alive(background)
    await child.terminate()
    assert not alive(background)


@pytest.mark.trap(96)
async def test_output_written_just_after_the_exit_is_not_lost() -> None:
    # The program can be signalled until we have taken note of its end.
    late = "while kill -0 $$ 2>/dev/null; do :; done; echo late; exec sleep 300"
    async with await bash(f"({late}) & echo early") as child:
        assert await child.output.read() == b"early\nlate\n"
        await child.terminate()


async def test_output_that_a_slow_reader_left_in_the_pipe_is_not_lost() -> None:
    size = MOST_WAITING + 60_000  # more than we keep waiting, with what fits into a pipe
    async with await bash(f"sleep 300 & head -c {size} /dev/zero") as child:
        await child.wait()
        await passing_of(2 * QUIET_AFTER_EXIT)

        assert len(await child.output.read()) == size
        await child.terminate()


async def test_a_background_process_that_never_stops_talking_is_left_alone_in_the_end() -> None:
    async with await bash("yes & echo $! >&2", errors="separate") as child:
        background = int(await child.errors.readline())
        while await child.output.read(MOST_WAITING):
            pass
        await child.terminate()

    assert not alive(background)


# Ending


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


@pytest.mark.trap(95)
@pytest.mark.parametrize("tree", TREES)
async def test_terminating_ends_every_kind_of_descendant(tree: str) -> None:
    async with await bash(TREES[tree]) as child:
        pids = [child.pid, *map(int, (await child.output.readline()).split())]
        assert all(map(alive, pids))

        await child.terminate(grace=0.2)

        assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.trap(95)
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
async def test_cancelling_a_start_at_any_point_leaves_nothing_behind(turns: int) -> None:
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

    assert [entry.pid for entry in processes._processes(name).values() if entry.marked] == []
    await asyncio.sleep(0)
    del task
    gc.collect()  # tells of a pipe that is still open


async def test_a_program_may_clean_up_when_it_is_terminated() -> None:
    script = "trap 'echo cleaned; exit 7' TERM; echo ready; read"
    async with await bash(script, stdin="pipe") as child:
        await child.output.readline()
        await child.terminate()

        assert (await child.wait(), await child.output.read()) == (Exit(exit_code=7), b"cleaned\n")


async def test_leaving_before_the_program_has_ended_terminates_it() -> None:
    async with await bash("echo $$; exec sleep 300") as child:
        await child.output.readline()

    assert await child.wait() == Exit(signal=signal.SIGTERM)


async def test_an_error_ends_what_an_ended_program_left_behind() -> None:
    background = 0
    with pytest.raises(ZeroDivisionError):
        async with await bash("sleep 300 & echo $!") as child:
            background = int(await child.output.read())
            raise ZeroDivisionError

    assert not alive(background)


async def test_ending_spares_processes_of_others() -> None:
    async with await bash("echo $$; exec sleep 300") as other, await bash("exit 0") as child:
        await other.output.readline()
        await child.wait()

        await child.terminate()

        assert alive(other.pid)


# Running to the end


@pytest.mark.trap(95)
async def test_the_deadline_kills_the_tree_and_keeps_what_was_written() -> None:
    done = await bash_to_end("echo before; setsid sleep 300 & echo $! >&2; wait", timeout=0.3)

    assert done == Finished(
        signal=signal.SIGTERM, output=b"before\n", errors=done.errors, timed_out=True
    )
    assert not alive(int(done.errors))


async def test_output_beyond_the_limit_is_read_but_not_kept() -> None:
    exact = await bash_to_end("printf 12345", max_output=5)
    more = await bash_to_end("printf 123456; head -c 1000000 /dev/zero >&2", max_output=5)

    assert exact == Finished(exit_code=0, output=b"12345")
    assert more == Finished(exit_code=0, output=b"12345", errors=bytes(5), truncated=True)


async def test_many_children_at_once_do_not_mix() -> None:
    ended = await asyncio.gather(*(bash_to_end(f"echo {n}; exit {n}") for n in range(40)))

    assert ended == [Finished(exit_code=n, output=b"%d\n" % n) for n in range(40)]


# Other systems


async def test_all_works_where_a_thread_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)  # as on macOS

    done = await bash_to_end("cat; echo oops >&2; exit 3", input=b"x" * 900)
    async with await bash("sleep 300 & echo $!") as child:
        background = int(await child.output.read())
        end = await child.wait()
        await child.terminate()

    assert done == Finished(exit_code=3, output=b"x" * 900, errors=b"oops\n")
    assert end == Exit(exit_code=0)
    assert not alive(background)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="ps has nothing to agree with")
async def test_ps_and_proc_tell_the_same_of_a_tree() -> None:
    script = f"export ODD=$'two\\nlines'; sleep 300 & echo $! ${MARKER}; wait"
    async with await bash(script) as child:
        background, name = (await child.output.readline()).decode().split()

        by_proc, by_ps = processes._processes(name), processes._from_ps(name)

    def shape(table: dict[int, Any]) -> list[tuple[int, int, bool]]:
        entries = (table[child.pid], table[int(background)])
        return [(entry.parent, entry.group, entry.marked) for entry in entries]

    expected = [(os.getpid(), child.pid, True), (child.pid, child.pid, True)]
    assert (shape(by_proc), shape(by_ps)) == (expected, expected)
    assert not by_proc[os.getpid()].marked
    assert not by_ps[os.getpid()].marked


# Environments


def test_the_allow_list_lets_pass_what_programs_need_and_no_secret() -> None:
    harmless = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LANG": "C",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/cache",
        "https_proxy": "proxy",
        "NO_PROXY": "localhost",
        "SSL_CERT_FILE": "/ca.pem",
        "SystemRoot": "C:\\Windows",
        MARKER: "abc",
    }
    rest = {
        "OPENAI_API_KEY": "sk",
        "MY_PATH": "x",
        "PATHS": "x",
        "GIT_DIR": "/x",
        "AWS_PROFILE": "x",
    }

    assert allow_listed(harmless | rest) == harmless


def test_the_persons_own_commands_get_all_but_credentials_and_git_places() -> None:
    kept = {"PATH": "/bin", "EDITOR": "vi", "GIT_PAGER": "cat", "GIT_CONFIG_COUNT": "0"}
    dropped = {"OPENAI_API_KEY": "sk", "GIT_DIR": "/x", "GIT_INDEX_FILE": "/y", "GIT_PREFIX": "z"}

    assert without(kept | dropped, {"OPENAI_API_KEY"}) == kept


@pytest.mark.skipif(shutil.which("git") is None, reason="not tested: git's own list of variables")
def test_what_git_calls_local_to_a_repository_is_dropped_but_its_configuration() -> None:
    answer = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )

    left = without(dict.fromkeys(answer.stdout.split(), "x"), ())

    assert set(left) <= {"GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}
