from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import pytest

from pi.base.processes import MARKER, Child, Exit, SpawnFailed
from pi.base.processes.terminal import ChildTerminal, has_terminals
from pi.base.processes.tree import processes
from tests.base.processes.children import ENV, HERE, needs_posix_shell

pytestmark = needs_posix_shell

TIMEOUT_SECONDS = 60.0


async def bash(
    script: str, terminal: ChildTerminal | None = None, env: Mapping[str, str] = ENV
) -> Child:
    return await (terminal or ChildTerminal()).spawn(["bash", "-c", script], cwd=HERE, env=env)


async def finish(child: Child) -> tuple[Exit, str]:
    """The exit of a program and its output."""
    async with asyncio.timeout(TIMEOUT_SECONDS), child:
        text = (await child.output.read()).decode()
        return await child.wait(), text


async def run(script: str, **options: Any) -> tuple[Exit, str]:
    return await finish(await bash(script, **options))


async def begun(child: Child) -> None:
    """Wait for the line in which the program reports that it is ready."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert await child.output.readline() == b"begun\r\n"


def test_every_system_but_windows_has_terminals() -> None:
    assert has_terminals()


async def test_all_three_streams_are_a_terminal_of_the_given_size_and_kind() -> None:
    script = 'test -t 0 && test -t 1 && test -t 2 && stty size && echo "$TERM"; exit 3'

    assert await run(
        script, terminal=ChildTerminal(columns=100, rows=30), env={**ENV, "TERM": "dumb"}
    ) == (
        Exit(exit_code=3),
        "30 100\r\nxterm-256color\r\n",
    )


async def test_the_program_leads_a_session_that_owns_the_terminal() -> None:
    script = 'test "$(ps -o sid= -p $$ | tr -d " ")" = $$ && echo leads; echo owns > /dev/tty'

    assert await run(script) == (Exit(exit_code=0), "leads\r\nowns\r\n")


async def test_output_and_errors_are_merged_in_the_order_of_writing() -> None:
    assert await run("echo a; echo b >&2; echo c") == (Exit(exit_code=0), "a\r\nb\r\nc\r\n")


async def test_a_signal_is_reported_by_the_exit_code() -> None:
    assert (await run("kill -9 $$"))[0] == Exit(exit_code=137)


async def test_input_reaches_the_program_even_if_sent_before_its_start() -> None:
    terminal = ChildTerminal()
    await terminal.send(b"Ada\n")

    _, text = await run("stty -echo; read name; echo hello $name", terminal=terminal)

    assert text.splitlines()[-1] == "hello Ada"


async def test_the_window_can_be_resized_while_a_program_runs() -> None:
    terminal = ChildTerminal()
    script = "trap 'stty size; exit' WINCH; echo begun; while :; do sleep 0.02; done"
    child = await bash(script, terminal)
    await begun(child)

    await terminal.resize(120, 40)

    assert (await finish(child))[1] == "40 120\r\n"


async def test_sending_input_to_a_program_that_has_ended_does_not_raise() -> None:
    terminal = ChildTerminal()
    await run("true", terminal=terminal)

    await terminal.send(b"x")


async def test_the_last_output_of_a_terminated_program_is_read() -> None:
    child = await bash("trap 'echo bye; exit' TERM; echo begun; while :; do sleep 0.02; done")
    async with child:
        await begun(child)
        await child.terminate(grace=TIMEOUT_SECONDS)

        assert (await child.output.read()).endswith(b"bye\r\n")


async def test_terminating_a_program_ends_its_children_in_other_sessions_too() -> None:
    name = os.urandom(8).hex()
    script = "trap '' TERM HUP; (setsid sleep 600 & sleep 600) & echo begun; sleep 600"
    child = await bash(script, env={**ENV, MARKER: name})
    async with child:
        await begun(child)
        await child.terminate(grace=0)

    assert [each.pid for each in processes(name).values() if each.marked] == []


async def test_a_background_process_that_holds_the_terminal_does_not_delay_the_end() -> None:
    name = os.urandom(8).hex()
    child = await bash("trap '' HUP; sleep 600 & echo done", env={**ENV, MARKER: name})
    try:
        assert await finish(child) == (Exit(exit_code=0), "done\r\n")
    finally:
        await child.terminate(grace=0)


@pytest.mark.full
async def test_a_background_process_that_never_stops_writing_does_not_delay_the_end() -> None:
    name = os.urandom(8).hex()
    script = "trap '' HUP; while :; do echo more; sleep 0.01; done & echo done"
    child = await bash(script, env={**ENV, MARKER: name})
    try:
        end, text = await finish(child)
        assert (end, "done" in text) == (Exit(exit_code=0), True)
    finally:
        await child.terminate(grace=0)


async def test_a_missing_folder_is_reported_before_anything_runs() -> None:
    with pytest.raises(SpawnFailed, match="the working directory /no/such does not exist"):
        await ChildTerminal().spawn(["true"], cwd=HERE / "no" / "such", env=ENV)
