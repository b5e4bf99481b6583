from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi.agent.env import MOST_OUTPUT, ExecResult, ExecutionEnv, FileInfo
from pi.agent.error_codes import (
    ExecutionError,
    ExecutionErrorCode,
    ExecutionFailed,
    FileErrorCode,
    FileFailed,
)
from pi.agent.tool_forms import tool
from pi.testing import calls, says
from tests.agent.agents import Stage
from tests.agent.local_env import LocalEnv

posix = pytest.mark.skipif(sys.platform == "win32", reason="commands are run by sh")


@pytest.fixture
def env(tmp_path: Path) -> ExecutionEnv:
    return LocalEnv(tmp_path, environ={"PATH": os.defpath, "COLOR": "red"})


# Files -------------------------------------------------------------------------------------------


async def test_a_file_that_is_written_can_be_read_in_folders_that_were_not_there(
    env: ExecutionEnv, tmp_path: Path
) -> None:
    await env.write_file("a/b/c.txt", b"one")
    await env.write_file(str(tmp_path / "a/b/c.txt"), b"two")

    assert await env.read_file("a/b/c.txt") == b"two"
    assert env.cwd == str(tmp_path)


async def test_files_and_folders_are_described(env: ExecutionEnv, tmp_path: Path) -> None:
    await env.write_file("b.txt", b"12345")
    await env.mkdir("a")
    await env.mkdir("a")
    os.utime(tmp_path / "b.txt", ns=(0, 1_700_000_000_123_000_000))

    described = await env.stat("a/../b.txt")

    assert described == FileInfo(
        name="b.txt",
        path=str(tmp_path / "b.txt"),
        kind="file",
        size=5,
        modified_ms=1_700_000_000_123,
    )
    assert [(found.name, found.kind) for found in await env.list_dir("")] == [
        ("a", "directory"),
        ("b.txt", "file"),
    ]


async def test_links_are_followed_but_removed_themselves(env: ExecutionEnv, tmp_path: Path) -> None:
    await env.write_file("folder/file", b"")
    (tmp_path / "link").symlink_to("folder", target_is_directory=True)
    (tmp_path / "broken").symlink_to("nowhere")

    assert (await env.stat("link")).kind == "directory"
    assert (await env.stat("broken")).kind == "other"
    assert await env.real_path("link/missing") == str(tmp_path / "folder/missing")
    assert await env.exists("broken")
    await env.remove("link")
    await env.remove("broken")
    assert (await env.exists("link"), await env.exists("folder/file")) == (False, True)


async def test_a_folder_with_something_in_it_is_removed_only_recursively(
    env: ExecutionEnv,
) -> None:
    await env.write_file("folder/file", b"")

    with pytest.raises(FileFailed) as refused:
        await env.remove("folder")
    await env.remove("folder", recursive=True)

    assert refused.value.error.code == "not_empty"
    assert not await env.exists("folder")


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (lambda env: env.read_file("missing"), "not_found"),
        (lambda env: env.read_file("folder"), "is_a_directory"),
        (lambda env: env.write_file("folder", b""), "is_a_directory"),
        (lambda env: env.write_file("file/below", b""), "already_exists"),
        (lambda env: env.list_dir("file"), "not_a_directory"),
        (lambda env: env.stat("missing"), "not_found"),
        (lambda env: env.mkdir("file"), "already_exists"),
        (lambda env: env.remove("missing"), "not_found"),
        (lambda env: env.read_file("a\0b"), "invalid_path"),
        (lambda env: env.read_file("x" * 5000), "invalid_path"),
    ],
)
async def test_what_cannot_be_done_to_a_file_has_a_code(
    env: ExecutionEnv,
    attempt: Callable[[ExecutionEnv], Awaitable[object]],
    code: FileErrorCode,
) -> None:
    await env.mkdir("folder")
    await env.write_file("file", b"")

    with pytest.raises(FileFailed) as failed:
        await attempt(env)

    assert failed.value.error.code == code
    assert failed.value.error.path in failed.value.message.replace("\\x00", "\0")


# Commands ----------------------------------------------------------------------------------------


@posix
async def test_a_command_gives_its_code_and_both_of_its_outputs_as_they_come(
    env: ExecutionEnv,
) -> None:
    told: list[str] = []
    await env.mkdir("below")

    result = await env.exec(
        'pwd >&2; echo "$COLOR $SIZE €"; exit 3',
        cwd="below",
        env={"SIZE": "big"},
        on_output=told.append,
    )

    assert result == ExecResult(exit_code=3, output=f"{env.cwd}/below\nred big €\n")
    assert "".join(told) == result.output


@posix
async def test_only_the_end_of_a_long_output_is_kept(env: ExecutionEnv) -> None:
    heard = 0

    def count(text: str) -> None:
        nonlocal heard
        heard += len(text)

    result = await env.exec(f"head -c {MOST_OUTPUT + 1000} /dev/zero; printf end", on_output=count)

    assert (len(result.output), result.truncated) == (MOST_OUTPUT, True)
    assert result.output.endswith("\0end")
    assert heard == MOST_OUTPUT + 1003


@posix
async def test_a_command_that_takes_too_long_is_killed_and_what_it_said_is_kept(
    env: ExecutionEnv,
) -> None:
    result = await env.exec("echo begun; sleep 60", timeout=0.2)

    message = "The command was killed after 0.2 seconds."
    error = ExecutionError(code="timed_out", message=message)
    assert result == ExecResult(exit_code=None, output="begun\n", error=error)


@posix
async def test_a_command_that_a_signal_ends_has_no_exit_code(env: ExecutionEnv) -> None:
    result = await env.exec("kill -9 $$")

    error = ExecutionError(code="killed", message="The command was ended by signal 9.")
    assert result == ExecResult(exit_code=None, output="", error=error)


@posix
async def test_cancelling_ends_the_command(env: ExecutionEnv) -> None:
    begun = asyncio.Event()
    running = asyncio.create_task(
        env.exec("echo $$; exec sleep 60", on_output=lambda text: begun.set())
    )
    await begun.wait()

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


@posix
async def test_a_listener_that_fails_ends_the_command(env: ExecutionEnv) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await env.exec("echo begun; sleep 60", on_output=fail)


@pytest.mark.parametrize(
    ("shell", "cwd", "code"),
    [
        (None, "", "shell_unavailable"),
        ("/nonexistent/sh", "", "spawn_failed"),
        ("sh", "missing", "invalid_directory"),
    ],
)
async def test_a_command_that_cannot_be_started_says_why(
    tmp_path: Path, shell: str | None, cwd: str, code: ExecutionErrorCode
) -> None:
    env = LocalEnv(tmp_path, environ={"PATH": os.defpath}, shell=shell)

    with pytest.raises(ExecutionFailed) as failed:
        await env.exec("true", cwd=cwd)

    assert failed.value.error.code == code


# In a tool ---------------------------------------------------------------------------------------


async def test_a_tool_is_built_with_a_place_and_its_problem_reaches_the_model(
    env: ExecutionEnv,
) -> None:
    @tool
    async def show(path: str) -> str:
        """Show a file."""
        return (await env.read_file(path)).decode()

    stage = Stage(calls("show", path="a"), calls("show", path="b"), says("ok"), tools=[show])
    await env.write_file("a", b"found")

    await stage.agent.prompt("go")

    results = [m for m in stage.agent.state.messages if type(m).__name__ == "ToolResultMessage"]
    assert [(result.is_error, result.content[0].text) for result in results] == [
        (False, "found"),
        (True, "Cannot read b: No such file or directory."),
    ]
