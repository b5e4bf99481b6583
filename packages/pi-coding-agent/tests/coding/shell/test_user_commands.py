from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from pi.base.processes import SpawnFailed
from pi.coding.shell.local import BashResult, UserCommands
from tests.base.processes.children import needs_posix_shell
from tests.coding.shell.shells import ShellHarness, shell_harness
from tests.coding.tools.places import make_shell

pytestmark = needs_posix_shell


@pytest.mark.behaviour("control-sequences-are-stripped")
async def test_control_sequences_are_removed_from_the_shown_output(tmp_path: Path) -> None:
    received: list[str] = []
    script = (
        r"printf 'a\033[31mred\033[0m \033]8;;http://x\033\\link\033]8;;\033\\ "
        r"\033]133;A\007\033P1$r\033\\\033_apc\033\\\033^pm\033\\\033\\end\r\n"
        r"\033]8;;unterminated\nnext'"
    )

    result = await UserCommands(ShellHarness(tmp_path).shell).run(script, on_text=received.append)

    assert result == BashResult(output="ared link end\n\nnext", exit_code=0)
    assert "".join(received) == result.output


async def test_a_result_has_the_form_of_the_protocol(tmp_path: Path) -> None:
    commands = UserCommands(ShellHarness(tmp_path).shell)

    short = msgspec.to_builtins(await commands.run("echo one; echo two >&2; exit 3"))
    long = msgspec.to_builtins(await commands.run("seq 1 3000"))

    assert short == {"output": "one\ntwo\n", "exitCode": 3, "cancelled": False, "truncated": False}
    assert long["output"].startswith("1001\n")
    assert long["output"].endswith("\n3000")
    path = Path(long.pop("fullOutputPath"))
    assert path.read_text() == "".join(f"{n}\n" for n in range(1, 3001))
    assert (long["truncated"], long["exitCode"]) == (True, 0)


async def test_a_result_notes_output_that_was_not_kept(tmp_path: Path) -> None:
    shell = make_shell(tmp_path, most_kept=100 * 1024)

    result = await UserCommands(shell).run("yes | head -n 100000")

    assert result.output.endswith("y\n\n[Output beyond 100.0KB was not kept.]")
    assert result.truncated


@pytest.mark.behaviour("escape-stops-user-commands")
async def test_stopping_ends_every_running_command_and_keeps_their_output(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        commands = UserCommands(harness.shell)
        begun = [asyncio.Event() for _ in range(3)]

        async def begin(number: int) -> BashResult:
            return await commands.run(
                f"echo {number}; sleep 600", on_text=lambda _: begun[number].set()
            )

        running = [asyncio.create_task(begin(number)) for number in range(3)]
        async with asyncio.timeout(30):
            await asyncio.gather(*(command.wait() for command in begun))
            assert commands.running == 3

            commands.stop()
            results = await asyncio.gather(*running)

        assert results == [BashResult(output=f"{n}\n", cancelled=True) for n in range(3)]
        assert (commands.running, harness.remaining()) == (0, [])


async def test_cancelling_the_caller_ends_its_command(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        begun = asyncio.Event()
        commands = UserCommands(harness.shell)
        running = asyncio.create_task(
            commands.run("echo begun; sleep 600", on_text=lambda _: begun.set())
        )
        async with asyncio.timeout(30):
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        assert (commands.running, harness.remaining()) == (0, [])


async def test_a_command_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    commands = UserCommands(ShellHarness(tmp_path).shell)

    with pytest.raises(SpawnFailed):
        await commands.run("true", cwd=tmp_path / "gone")
    assert commands.running == 0
