from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.tui.terminals.tty_output import OutputCapture, TtyOutput, is_ready


@pytest.fixture
def device() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal in raw mode."""
    import tty

    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, slave
    for fd in (master, slave):
        try:
            os.close(fd)
        except OSError:
            continue


async def read_all(master: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await asyncio.to_thread(os.read, master, 65_536)
    return data


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
async def test_output_that_a_slow_terminal_does_not_accept_is_written_later(
    device: tuple[int, int],
) -> None:
    master, slave = device
    output = TtyOutput(slave, on_disconnect=lambda: None)
    text = "0123456789" * 20_000

    output.write(text)
    assert output.backlog > 0
    async with asyncio.timeout(30):
        received = await read_all(master, len(text))
    output.close()

    assert received.decode() == text


def test_pending_output_is_flushed_without_an_event_loop(device: tuple[int, int]) -> None:
    master, slave = device
    output = TtyOutput(slave, on_disconnect=lambda: None)

    output.write("hello")
    output.flush(1)
    output.close()

    assert (os.read(master, 100), output.backlog) == (b"hello", 0)


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_flushing_to_a_blocked_terminal_times_out(device: tuple[int, int]) -> None:
    _, slave = device
    output = TtyOutput(slave, on_disconnect=lambda: None)

    output.write("x" * 500_000)
    output.flush(0.05)

    assert output.backlog > 0
    output.close()


def test_file_descriptors_above_1023_can_be_polled(device: tuple[int, int]) -> None:
    master, slave = device
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    large = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 1100) for fd in device]
    try:
        assert not is_ready(large[0], select.POLLIN, 0)
        os.write(slave, b"x")
        assert is_ready(large[0], select.POLLIN, 1)
        assert is_ready(large[1], select.POLLOUT, 1)
    finally:
        for fd in large:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.read(master, 9) == b"x"


OTHER_USERS_TERMINAL = """
import fcntl, os, sys, termios
from pi.tui.terminals.tty_output import TtyOutput

ours = 1 if sys.argv[1] == "True" else os.openpty()[1]
fcntl.ioctl(ours, termios.TIOCSCTTY, 0)
os.chmod(os.ttyname(1), 0)
if os.getuid() == 0:
    os.setuid(65534)
output = TtyOutput(1, on_disconnect=lambda: None)
output.write("hello")
output.flush(1)
print(os.get_blocking(output._fd), os.get_blocking(1), file=sys.stderr)
"""


@pytest.mark.parametrize("is_ours", [True, False], ids=["of the process", "another"])
def test_output_is_written_to_a_terminal_of_another_user(
    device: tuple[int, int], is_ours: bool
) -> None:
    master, slave = device
    run = subprocess.run(
        [sys.executable, "-c", OTHER_USERS_TERMINAL, str(is_ours)],
        stdout=slave,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        timeout=60,
    )

    assert (run.returncode, run.stderr) == (0, f"{not is_ours} True\n")
    assert os.read(master, 100) == b"hello"


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
def test_a_disconnect_is_reported_and_clears_the_backlog(device: tuple[int, int]) -> None:
    master, slave = device
    gone: list[str] = []
    output = TtyOutput(slave, on_disconnect=lambda: gone.append("gone"))

    os.close(master)
    output.write("lost")
    output.close()

    assert (gone, output.backlog) == (["gone"], 0)


def test_all_output_is_written_to_the_log(device: tuple[int, int], tmp_path: Path) -> None:
    _, slave = device
    output = TtyOutput(slave, on_disconnect=lambda: None, log=tmp_path / "log")

    output.write("a")
    output.write("b")
    output.close()

    assert (tmp_path / "log").read_text() == "ab"


def test_output_to_files_and_pipes_is_not_captured() -> None:
    stray = OutputCapture()

    assert stray.release() == ""


def test_captured_output_has_no_control_sequences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: fd == 1)
    stray = OutputCapture()
    os.write(1, b"a\x1b]0;x\x07b\xc2\x9b2Jc")

    assert stray.release() == "abc"
