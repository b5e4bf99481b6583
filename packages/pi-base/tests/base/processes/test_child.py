from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from pi.base.processes import MARKER, Exit, Finished, SpawnFailed, run, spawn
from pi.base.processes.child import MAX_BUFFERED_BYTES, QUIET_AFTER_EXIT
from tests.base.processes.children import (
    ENV,
    HERE,
    alive,
    bash,
    bash_to_end,
    needs_posix_shell,
    passing_of,
)

pytestmark = needs_posix_shell


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


async def test_the_standard_input_of_a_child_is_empty_by_default() -> None:
    assert await bash_to_end("cat; echo end") == Finished(exit_code=0, output=b"end\n")


async def test_a_child_without_captured_output_has_none_of_our_pipes(tmp_path: Path) -> None:
    streams = "for n in 0 1 2; do readlink /proc/self/fd/$n; done > $1; echo lost; echo lost >&2"
    seen = tmp_path / "seen"
    if not Path("/proc/self/fd").exists():
        pytest.skip("only Linux shows what a stream is")

    async with await spawn(
        ["bash", "-c", streams, "-", str(seen)], cwd=HERE, env=ENV, output="null"
    ) as child:
        assert await child.output.read() == await child.errors.read() == b""
        assert (await child.wait()).ok

    assert seen.read_text().split() == ["/dev/null", str(seen), "/dev/null"]


async def test_a_child_inherits_no_file_descriptors() -> None:
    reader, writer = os.pipe()
    try:
        os.set_inheritable(writer, True)
        done = await bash_to_end(f"echo leaked 2>/dev/null >&{writer}")
    finally:
        os.close(reader)
        os.close(writer)

    assert done.exit_code == 1


async def test_a_failed_start_is_reported_in_one_line(tmp_path: Path) -> None:
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


@pytest.mark.behaviour("death-by-signal-is-failure")
async def test_death_by_a_signal_is_a_failure_and_keeps_the_output() -> None:
    done = await bash_to_end("echo before; kill -SEGV $$")

    assert done == Finished(signal=signal.SIGSEGV, output=b"before\n")
    assert not done.ok


async def test_a_program_has_succeeded_only_with_exit_code_0() -> None:
    ended = [await bash_to_end(f"exit {code}") for code in (0, 3)]

    assert ended == [Finished(exit_code=0), Finished(exit_code=3)]
    assert [end.ok for end in ended] == [True, False]


async def test_large_input_and_output_flow_at_the_same_time() -> None:
    data = os.urandom(5_000_000)

    done = await run(["cat"], cwd=HERE, env=ENV, timeout=20, max_output=len(data), input=data)

    assert done == Finished(exit_code=0, output=data)


async def test_concurrent_writes_to_standard_input_do_not_interleave() -> None:
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


async def test_unread_input_ends_with_the_program() -> None:
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
        while chunk := await child.output.read(MAX_BUFFERED_BYTES):
            sizes.append(len(chunk))

    assert sum(sizes) == size


async def test_output_that_is_not_read_does_not_fill_the_memory() -> None:
    async with await spawn(["yes"], cwd=HERE, env=ENV) as child:
        await passing_of(0.2)
        waiting = await child.output.read(100 * MAX_BUFFERED_BYTES)

    assert 0 < len(waiting) <= 2 * MAX_BUFFERED_BYTES


# Background processes


@pytest.mark.behaviour("background-child-does-not-block")
async def test_reading_ends_with_the_program_although_a_background_process_holds_the_pipe() -> None:
    async with await bash("sleep 300 & echo $!") as child:
        background = int(await child.output.read())
        assert await child.wait() == Exit(exit_code=0)

    assert alive(background)
    await child.terminate()
    assert not alive(background)


@pytest.mark.behaviour("background-child-does-not-block")
async def test_output_written_just_after_the_exit_is_not_lost() -> None:
    # The program can be signalled until we have taken note of its end.
    late = "while kill -0 $$ 2>/dev/null; do :; done; echo late; exec sleep 300"
    async with await bash(f"({late}) & echo early") as child:
        assert await child.output.read() == b"early\nlate\n"
        await child.terminate()


async def test_output_that_a_slow_reader_left_in_the_pipe_is_not_lost() -> None:
    size = MAX_BUFFERED_BYTES + 60_000  # more than we keep waiting, with what fits into a pipe
    async with await bash(f"sleep 300 & head -c {size} /dev/zero") as child:
        await child.wait()
        await passing_of(2 * QUIET_AFTER_EXIT)

        assert len(await child.output.read()) == size
        await child.terminate()


async def test_reading_ends_although_a_background_process_never_stops_writing() -> None:
    async with await bash("yes & echo $! >&2", errors="separate") as child:
        background = int(await child.errors.readline())
        while await child.output.read(MAX_BUFFERED_BYTES):
            pass
        await child.terminate()

    assert not alive(background)


# Running to the end


@pytest.mark.behaviour("process-group-is-killed")
async def test_a_timeout_kills_the_process_tree_and_keeps_the_output() -> None:
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


async def test_the_output_of_many_children_at_once_is_not_mixed() -> None:
    ended = await asyncio.gather(*(bash_to_end(f"echo {n}; exit {n}") for n in range(40)))

    assert ended == [Finished(exit_code=n, output=b"%d\n" % n) for n in range(40)]


# Other systems


async def test_children_work_without_pidfd_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)  # as on macOS

    done = await bash_to_end("cat; echo oops >&2; exit 3", input=b"x" * 900)
    async with await bash("sleep 300 & echo $!") as child:
        background = int(await child.output.read())
        end = await child.wait()
        await child.terminate()

    assert done == Finished(exit_code=3, output=b"x" * 900, errors=b"oops\n")
    assert end == Exit(exit_code=0)
    assert not alive(background)
