from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import CannotMeasure
from bench.terminal import terminal


def test_cat_echoes_what_is_typed_and_ends_at_end_of_file() -> None:
    with terminal(["cat"]) as screen:
        screen.send(b"hello\n")
        waited = screen.wait_for(rb"hello\r\nhello\r\n", within=10)
        screen.send(b"\x04")
        run = screen.finish(within=10)

    assert 0 < waited < 10
    assert (run.exit_code, run.output[:14]) == (0, b"hello\r\nhello\r\n")


def test_the_program_sees_a_terminal_of_the_given_size_as_its_own() -> None:
    program = "import os; print(os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp())"

    with terminal([sys.executable, "-c", program], columns=90, rows=30) as screen:
        run = screen.finish(within=10)

    assert run.output == b"os.terminal_size(columns=90, lines=30) True\r\n"


def test_ctrl_c_interrupts_the_program_and_not_the_measurement() -> None:
    # Not a sleep: Python handles a signal that arrives just before it only after it has ended.
    program = "print('ready', flush=True)\nwhile True: pass"

    with terminal([sys.executable, "-c", program]) as screen:
        screen.wait_for(b"ready", within=10)
        assert screen.memory() > 1_000_000
        screen.send(b"\x03")
        screen.wait_for(b"KeyboardInterrupt", within=10)
        run = screen.finish(within=10)

    assert run.exit_code == -2


def test_wait_for_ignores_output_written_before_the_last_keys() -> None:
    program = "print('ready', flush=True)\nwhile input(): print('ready', flush=True)"

    with terminal([sys.executable, "-c", program]) as screen:
        screen.wait_for(rb"ready\r\n", within=10)
        screen.send(b"x\n")
        screen.wait_for(rb"ready\r\n", within=10)

    assert screen.output == b"ready\r\nx\r\nready\r\n"


@pytest.mark.parametrize("program", ["cat", "yes"])
def test_a_pattern_that_does_not_appear_in_time_is_reported(program: str) -> None:
    with (
        terminal([program]) as screen,
        pytest.raises(CannotMeasure, match=r"b'never' did not appear within 0\.1 s"),
    ):
        screen.wait_for(b"never", within=0.1)


@pytest.mark.parametrize("program", ["cat", "yes"])
def test_a_program_that_does_not_end_in_time_is_reported(program: str) -> None:
    with (
        terminal([program]) as screen,
        pytest.raises(CannotMeasure, match=r"the program did not end within 0\.1 s"),
    ):
        screen.finish(within=0.1)


def test_a_program_that_ends_before_the_pattern_is_reported() -> None:
    with (
        terminal([sys.executable, "-c", "print('bye')"]) as screen,
        pytest.raises(CannotMeasure, match=r"b'never' never appeared; last: b'bye\\r\\n'"),
    ):
        screen.wait_for(b"never", within=10)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc has it")
def test_the_cpu_time_of_a_running_program_is_reported() -> None:
    program = "while True: print(input() and sum(range(10_000_000)))"
    with terminal([sys.executable, "-c", program]) as screen:
        before = screen.cpu()
        screen.send(b"go\n")
        screen.wait_for(rb"49999995000000")
        screen.watch(0.01)
        assert screen.cpu() > before
