"""Shell commands in a terminal: their output is text, and no process is left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.processes.terminal import ChildTerminal
from pi.coding.shell.local import Ended
from tests.base.processes.children import needs_posix_shell
from tests.coding.shell.shells import ShellHarness, shell_harness

pytestmark = needs_posix_shell

TIMEOUT_SECONDS = 60.0


async def run(
    harness: ShellHarness, command: str, timeout: float = TIMEOUT_SECONDS
) -> tuple[Ended, str]:
    output = harness.shell.new_output(harmless=True)
    end = await harness.shell.run(command, output=output, terminal=ChildTerminal(), timeout=timeout)
    return end, output.written().tail.content


async def test_control_sequences_and_carriage_returns_are_sanitised(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        _, text = await run(harness, r"printf '\033[2Ja\033[31mb\033]0;title\007\n50%%\r100%%\n'")

        assert text == "ab\n50%\n100%\n"


async def test_a_background_process_is_ended_with_the_shell_and_not_with_its_command(
    tmp_path: Path,
) -> None:
    async with shell_harness(tmp_path) as harness:
        command = "trap '' HUP; sleep 600 & echo done"  # or the terminal ends it

        assert await run(harness, command) == (Ended(exit_code=0), "done\n")
        assert len(harness.remaining()) == 1


@pytest.mark.behaviour("process-group-is-killed")
async def test_a_timeout_ends_the_command_and_its_terminal(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        end, _ = await run(harness, "setsid sleep 600 & sleep 600", timeout=0.6)

        assert end.timed_out
        assert harness.remaining() == []


async def test_an_abort_ends_the_command_and_keeps_its_output(tmp_path: Path) -> None:
    async with shell_harness(tmp_path) as harness:
        output, begun = harness.shell.new_output(harmless=True), asyncio.Event()
        running = asyncio.create_task(
            harness.shell.run(
                "echo begun; setsid sleep 600 & sleep 600",
                output=output,
                terminal=ChildTerminal(),
                on_text=lambda _: begun.set(),
            )
        )
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        assert output.written().tail.content.startswith("begun\n")
        assert harness.remaining() == []
