from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.agent.env import (
    MAX_OUTPUT,
    ExecResult,
    ExecutionEnv,
    ExecutionError,
    ExecutionErrorCode,
    ExecutionFailed,
)
from pi.coding.shell.local import ShellOptions
from pi.coding.tools.local_env import LocalEnv
from tests.base.processes.children import alive, needs_posix_shell
from tests.coding.tools.places import make_shell

pytestmark = needs_posix_shell


def make_env(folder: Path, options: ShellOptions | None = None) -> LocalEnv:
    return LocalEnv(lambda: folder, home="/", shell=make_shell(folder, options=options))


async def test_files_and_commands_share_a_folder(tmp_path: Path) -> None:
    env: ExecutionEnv = make_env(tmp_path)
    received: list[str] = []

    await env.write_file("f", b"text")
    result = await env.exec("cat f; echo $X", env={"X": "1"}, timeout=30, on_output=received.append)

    assert result == ExecResult(exit_code=0, output="text1\n")
    assert "".join(received) == "text1\n"
    assert env.cwd == str(tmp_path)


async def test_a_command_returns_its_code_and_streams_its_output(tmp_path: Path) -> None:
    received: list[str] = []
    (tmp_path / "below").mkdir()

    result = await make_env(tmp_path).exec(
        'pwd; echo "$SIZE €" >&2; exit 3',
        cwd="below",
        env={"SIZE": "big"},
        on_output=received.append,
    )

    assert result == ExecResult(exit_code=3, output=f"{tmp_path}/below\nbig €\n")
    assert "".join(received) == result.output


async def test_only_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    received: list[int] = []

    result = await make_env(tmp_path).exec(
        f"head -c {MAX_OUTPUT + 10} /dev/zero; printf end",
        on_output=lambda text: received.append(len(text)),
    )

    assert (len(result.output), result.truncated) == (MAX_OUTPUT, True)
    assert result.output.endswith("\0end")
    assert sum(received) == MAX_OUTPUT + 13


async def test_cancelling_ends_the_command(tmp_path: Path) -> None:
    begun = asyncio.Event()
    running = asyncio.create_task(
        make_env(tmp_path).exec("echo $$; exec sleep 60", on_output=lambda text: begun.set())
    )
    await begun.wait()

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_listener_that_fails_ends_the_command(tmp_path: Path) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await make_env(tmp_path).exec("echo begun; sleep 60", on_output=fail)


@pytest.mark.parametrize(
    ("command", "timeout", "error"),
    [
        (
            "echo begun; sleep 60",
            1,
            ExecutionError(code="timed_out", message="The command was killed after 1 seconds."),
        ),
        (
            "echo begun; kill -9 $$",
            None,
            ExecutionError(code="killed", message="The command was ended by signal 9."),
        ),
    ],
)
async def test_a_missing_exit_code_is_explained_by_an_error(
    tmp_path: Path, command: str, timeout: float | None, error: ExecutionError
) -> None:
    result = await make_env(tmp_path).exec(command, timeout=timeout)

    assert result == ExecResult(exit_code=None, output="begun\n", error=error)


@pytest.mark.parametrize(
    ("options", "cwd", "code"),
    [
        (ShellOptions(path="/nonexistent/bash"), "", "shell_unavailable"),
        (ShellOptions(), "missing", "invalid_directory"),
        (ShellOptions(path="{folder}/broken"), "", "spawn_failed"),
    ],
)
async def test_a_command_that_cannot_be_started_raises_with_a_code(
    tmp_path: Path,
    options: ShellOptions,
    cwd: str,
    code: ExecutionErrorCode,
    replace_folder: Callable[[ShellOptions], ShellOptions],
) -> None:
    (tmp_path / "broken").write_text("#!/nonexistent/interpreter\n")
    (tmp_path / "broken").chmod(0o755)

    with pytest.raises(ExecutionFailed) as failed:
        await make_env(tmp_path, replace_folder(options)).exec("true", cwd=cwd)

    assert failed.value.error.code == code


@pytest.fixture
def replace_folder(tmp_path: Path) -> Callable[[ShellOptions], ShellOptions]:
    def replaced(options: ShellOptions) -> ShellOptions:
        return ShellOptions(path=options.path.format(folder=tmp_path))

    return replaced


async def test_an_async_listener_receives_all_output(tmp_path: Path) -> None:
    received: list[str] = []

    async def listen(text: str) -> None:
        received.append(text)

    # The last byte is the beginning of a character: it is emitted when the command has ended.
    result = await make_env(tmp_path).exec("printf 'a\\303'", on_output=listen)

    assert "".join(received) == result.output == "a\ufffd"


async def test_closing_the_environment_ends_background_processes(tmp_path: Path) -> None:
    async with make_env(tmp_path) as env:
        executed = await env.exec("sleep 1000 >/dev/null 2>&1 & echo $!")
        pid = int(executed.output)
        assert alive(pid)

    assert not alive(pid)
