from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi.base.event_loop import run_event_loop
from pi.tui.terminal import Listener, Size
from pi.tui.terminals import own_terminal
from pi.tui.terminals.posix import NotATerminal, ProcessTerminal
from pi.tui.terminals.tty_output import is_ready
from tests.sampling import sampled
from tests.tui.pty_program import PtyProgram

RESTORED = b"\x1b[?7h\x1b[<u\r\r\n\x1b[?25h\x1b[?2004l"


@pytest.fixture
def device() -> Iterator[tuple[int, int]]:
    """Returns the two ends of a terminal: the user's, and the program's."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_input_that_is_not_a_terminal_is_rejected(tmp_path: Path) -> None:
    with (
        (tmp_path / "file").open("w") as file,
        pytest.raises(NotATerminal, match="needs a terminal"),
    ):
        ProcessTerminal(env={}, input_fd=file.fileno(), output_fd=file.fileno())


@pytest.mark.behaviour("size-from-the-environment")
def test_the_environment_sets_the_size_if_the_device_has_none(device: tuple[int, int]) -> None:
    _, slave = device

    known = ProcessTerminal(env={"COLUMNS": "33", "LINES": "7"}, input_fd=slave, output_fd=slave)
    unknown = ProcessTerminal(env={"COLUMNS": "x"}, input_fd=slave, output_fd=slave)

    assert (known.size, unknown.size) == (
        Size(columns=33, rows=7),
        Size(columns=80, rows=24),
    )


def test_input_that_is_reported_twice_does_not_block_the_event_loop(
    device: tuple[int, int],
) -> None:
    master, slave = device
    received: list[bytes] = []

    async def main() -> None:
        terminal = ProcessTerminal(env={}, input_fd=slave, output_fd=slave, keep_output=False)
        terminal.start(Listener(received.append, *[_ignore] * 3), restore=str)
        os.write(master, b"a")
        assert is_ready(slave, select.POLLIN, 30)
        # Leaves the loop after the input was reported and before it is read.
        asyncio.get_running_loop().call_soon(sys.exit)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        terminal.stop()

    run_event_loop(main())

    assert received == [b"a"]


@pytest.mark.behaviour("exit-restores-the-terminal")
def test_a_normal_exit_restores_the_terminal() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        assert program.output.startswith(b"\x1b[?2004h\x1b[>7u\x1b[?u\x1b[c\x1b[?25l\x1b]11;?\x07")
        program.type(b"a")
        program.wait_for(b"key 'a'")
        program.type(b"q")

        assert program.end() == 0
        assert program.output.endswith(RESTORED + b"over\r\n")
        assert program.terminal_attributes() == program.attributes


@pytest.mark.behaviour("exit-restores-the-terminal")
def test_an_exception_is_shown_after_the_terminal_is_restored() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        program.type(b"x")

        assert program.end() == 1
        _, _, after = program.output.partition(RESTORED)
        assert b"ValueError: broken" in after
        assert program.terminal_attributes() == program.attributes


@pytest.mark.behaviour("exit-restores-the-terminal")
@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], keep=1))
def test_a_signal_restores_the_terminal_and_ends_the_program(
    number: signal.Signals,
) -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        program.signal(number)

        assert program.end() == -number
        assert program.output.endswith(RESTORED)
        assert program.terminal_attributes() == program.attributes


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_a_signal_during_the_restore_is_handled_after_it(
    device: tuple[int, int],
) -> None:
    _, slave = device
    happened: list[str] = []
    before = signal.signal(signal.SIGHUP, lambda number, frame: happened.append("signal"))
    try:
        terminal = ProcessTerminal(env={}, input_fd=slave, output_fd=slave, keep_output=False)

        def restore() -> str:
            os.kill(os.getpid(), signal.SIGHUP)
            happened.append("given back")
            return ""

        listener = Listener(lambda data: None, *[_ignore] * 3)
        terminal.start(listener, restore=restore)
        terminal.stop()

        assert happened == ["given back", "signal"]
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_a_terminal_that_is_closed_ends_the_program() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        program.hang_up()

        assert program.end() in (0, 1, -signal.SIGHUP)


@pytest.mark.full
def test_a_resize_is_detected() -> None:
    with PtyProgram() as program:
        program.resize(70, 9)
        program.wait_for(b"Size(columns=70, rows=9)")
        program.resize(60, 8)
        program.wait_for(b"Size(columns=60, rows=8)")
        program.type(b"q")

        assert program.end() == 0


@pytest.mark.behaviour("late-input-is-drained")
def test_pending_replies_do_not_reach_the_shell() -> None:
    with PtyProgram() as program:
        _answer(program)
        program.type(b"q")
        program.wait_for(b"\x1b[?2004l\x1b[c")
        program.type(b"\x1b[97;1:3u\x1b[?62;22c")

        assert program.end() == 0
        assert b"97;1:3u" not in program.output


@pytest.mark.behaviour("late-input-is-drained")
@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGHUP], keep=1))
def test_pending_replies_after_a_signal_do_not_reach_the_shell(
    number: signal.Signals,
) -> None:
    with PtyProgram() as program:
        _answer(program)
        program.signal(signal.SIGSTOP)
        program.type(b"\x1b]11;rgb:0000/0000/0000\x07\x1b[?62;22c")
        program.signal(number)
        program.signal(signal.SIGCONT)

        assert program.end() == -number
        assert program.output.endswith(b"\x1b[?2004l\x1b[c")
        assert not program.unread_input()


@pytest.mark.full
@pytest.mark.behaviour("late-input-is-drained")
def test_answers_to_a_program_that_ends_at_once_do_not_reach_the_shell() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        program.signal(signal.SIGSTOP)
        program.type(b"\x1b[?0u\x1b[?62;22c\x1b]11;rgb:0000/0000/0000\x07")
        program.signal(signal.SIGTERM)
        program.signal(signal.SIGCONT)

        assert program.end() == -signal.SIGTERM
        assert not program.unread_input()


@pytest.mark.behaviour("suspend-and-resume")
def test_the_screen_is_restored_after_suspend_and_resume(
    program: Callable[[str, str], str],
) -> None:
    program("bash", "suspending under a shell with job control")
    with PtyProgram(shell="set -m; $DEMO; echo back at the shell; stty -a; fg") as shell:
        shell.wait_for(b"ready")
        shell.type(b"z")
        shell.wait_for(b"back at the shell")
        before, _, _ = shell.output.partition(b"back at the shell")
        assert RESTORED in before
        shell.wait_for(b"key 'z'", after=len(before))
        assert b" icanon" in shell.output[len(before) :]
        shell.type(b"q")

        assert shell.end() == 0
        assert shell.output.endswith(RESTORED + b"over\r\n")


@pytest.mark.full
@pytest.mark.behaviour("suspend-and-resume")
def test_a_program_stopped_and_continued_by_signals_restarts_its_terminal() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        mark = len(program.output)
        program.signal(signal.SIGSTOP)
        program.signal(signal.SIGCONT)
        program.wait_for(RESTORED + b"\x1b[?2004h", after=mark)
        program.wait_for(b"ready", after=mark)
        program.type(b"q")

        assert program.end() == 0
        assert program.output.count(b"\x1b[>7u") == program.output.count(b"\x1b[<u") == 2


@pytest.mark.full
@pytest.mark.behaviour("suspend-and-resume")
def test_a_program_stopped_from_outside_prints_its_final_rows_only_at_exit() -> None:
    with PtyProgram(env={"DEMO_FULLSCREEN": "1"}) as program:
        program.wait_for(b"ready")
        mark = len(program.output)
        program.signal(signal.SIGSTOP)
        program.signal(signal.SIGCONT)
        program.wait_for(b"ready", after=mark)
        program.type(b"q")

        assert program.end() == 0
        assert program.output.count(b"what was shown") == 1


@pytest.mark.full
@pytest.mark.behaviour("only-the-tui-writes")
def test_stray_output_is_printed_after_the_screen() -> None:
    with PtyProgram() as program:
        program.wait_for(b"ready")
        program.type(b"w")
        program.wait_for(b"key 'w'")
        program.type(b"q")

        assert program.end() == 0
        before, _, after = program.output.partition(RESTORED)
        assert (b"a child prints" in before, b"a library warns" in before) == (False, False)
        assert (b"a child prints" in after, b"a library warns" in after) == (True, True)


@pytest.mark.behaviour("early-keys-are-kept")
def test_keys_typed_before_the_start_are_kept() -> None:
    with PtyProgram() as program:
        program.type(b"abc")
        program.wait_for(b"key 'c'")
        program.type(b"q")

        assert program.end() == 0


@pytest.mark.full
def test_the_write_log_has_every_byte(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with PtyProgram(env={"PI_TUI_WRITE_LOG": str(log)}) as program:
        program.wait_for(b"ready")
        program.type(b"q")
        assert program.end() == 0

        assert log.read_bytes() + b"over\r\n" == program.output


async def test_keys_typed_while_the_loop_is_blocked_are_delivered_unless_filtered_out(
    device: tuple[int, int],
) -> None:
    master, slave = device
    terminal = ProcessTerminal(env={}, input_fd=slave, output_fd=slave, keep_output=False)
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    terminal.read_aside(lambda data: data)  # the terminal is not started yet
    listener = Listener(
        arrived.put_nowait, on_resize=_ignore, on_resume=_ignore, on_disconnect=_ignore
    )
    terminal.start(listener, restore=lambda: "")
    try:
        terminal.read_aside(lambda data: data)  # nothing was typed
        os.write(master, b"ab\x03c")
        terminal.read_aside(lambda data: data.replace(b"\x03", b""))
        os.write(master, b"d")

        assert [await arrived.get() for _ in range(2)] == [b"abc", b"d"]
    finally:
        terminal.stop()


async def test_a_window_that_is_closed_while_the_process_is_continued_is_a_lost_terminal() -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda loop, context: failures.append(context))
    lost = asyncio.Event()
    master, slave = pty.openpty()
    try:
        terminal = ProcessTerminal(env={}, input_fd=slave, output_fd=slave, keep_output=False)
        listener = Listener(
            lambda data: None, on_resize=_ignore, on_resume=_ignore, on_disconnect=lost.set
        )
        terminal.start(listener, restore=lambda: "")
        os.close(master)
        os.kill(os.getpid(), signal.SIGCONT)
        async with asyncio.timeout(5):
            await lost.wait()
    finally:
        os.close(slave)

    assert failures == []


def _answer(program: PtyProgram) -> None:
    """Replies to the first query like a terminal without Kitty's keys."""
    program.wait_for(b"\x1b[c")
    program.type(b"\x1b[?62;22c")
    program.wait_for(b"\x1b[>4;2m")


def _ignore() -> None:
    """Not expected here."""


def test_a_missing_console_on_windows_raises() -> None:
    with pytest.raises(NotATerminal, match="needs a terminal"):
        own_terminal({}, platform="win32")
