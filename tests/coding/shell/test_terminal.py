from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pi.coding.shell.local import Ended
from pi.coding.shell.terminal import Terminal
from tests.coding.shell.shells import Room, empty_room

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals are those of POSIX")


async def run(
    room: Room, command: str, terminal: Terminal | None = None, timeout: float | None = 20
) -> tuple[Ended, str]:
    output = room.shell.new_output(harmless=True)
    end = await room.shell.run(
        command, output=output, terminal=terminal or Terminal(), timeout=timeout
    )
    return end, output.written().tail.content


async def test_a_command_has_a_terminal_of_the_given_size(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        size = Terminal(columns=100, rows=30)

        assert await run(room, "test -t 0 && test -t 1 && stty size; exit 3", size) == (
            Ended(exit_code=3),
            "30 100\n",
        )


async def test_what_is_typed_reaches_the_command_also_before_it_has_started(
    tmp_path: Path,
) -> None:
    async with empty_room(tmp_path) as room:
        terminal = Terminal()
        await terminal.send(b"Ada\n")

        _, text = await run(room, "stty -echo; read name; echo hello $name", terminal)

        assert text.splitlines()[-1] == "hello Ada"


async def test_the_window_can_be_resized_while_a_command_runs(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        terminal, begun = Terminal(), asyncio.Event()
        output = room.shell.new_output(harmless=True)
        command = "trap 'stty size; exit' WINCH; echo begun; while :; do sleep 0.02; done"
        running = asyncio.create_task(
            room.shell.run(command, output=output, terminal=terminal, on_text=lambda _: begun.set())
        )
        async with asyncio.timeout(10):
            await begun.wait()
            await terminal.resize(120, 40)
            await running

        assert output.written().tail.content == "begun\n40 120\n"


async def test_sequences_and_carriage_returns_are_made_harmless(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        _, text = await run(room, r"printf '\033[2Ja\033[31mb\033]0;title\007\n50%%\r100%%\n'")

        assert text == "ab\n50%\n100%\n"


@pytest.mark.trap(95)
async def test_a_timeout_ends_the_command_and_its_relay(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        end, text = await run(room, "echo begun; setsid sleep 600 & sleep 600", timeout=0.6)

        assert (end.timed_out, text) == (True, "begun\n")
        assert room.left() == []


async def test_a_signal_and_a_background_process_end_the_call(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        assert (await run(room, "kill -9 $$"))[0] == Ended(exit_code=137)
        assert (await run(room, "setsid sleep 600 & echo done"))[1] == "done\n"


async def test_typing_into_a_command_that_has_ended_is_no_problem(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        terminal = Terminal()
        await run(room, "true", terminal)

        await terminal.send(b"x")
