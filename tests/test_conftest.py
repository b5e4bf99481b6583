from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import ROOT
from tests.fixtures import OutsideNetwork, stays_here


@pytest.mark.parametrize(
    "target",
    [
        None,
        "",
        b"localhost",
        "127.0.0.1",
        ("127.8.8.8", 80),
        ("::1", 80, 0, 0),
        ("0.0.0.0", 80),
        "/tmp/a.sock",
        b"\0abstract",
        "nowhere.invalid",
        "a..b",
        ("100::1", 80, 0, 0),
    ],
)
def test_targets_on_this_machine_are_allowed(target: object) -> None:
    assert stays_here(target)


@pytest.mark.parametrize(
    "target", ["example.com", b"example.com", ("192.0.2.1", 80), ("fe80::1%eth0", 80, 0, 2)]
)
def test_targets_on_other_machines_are_refused(target: object) -> None:
    assert not stays_here(target)


async def test_an_attempt_is_refused_and_noted(attempts: list[str]) -> None:
    with socket.socket() as plain:
        for connect in (plain.connect, plain.connect_ex):
            with pytest.raises(OutsideNetwork, match=r"192\.0\.2\.1"):
                connect(("192.0.2.1", 80))
    with pytest.raises(OutsideNetwork, match="example"):
        await asyncio.open_connection("example.com", 80)

    assert attempts == ["('192.0.2.1', 80)", "('192.0.2.1', 80)", "example.com"]
    attempts.clear()


@pytest.mark.full  # which runs all tests under nohup; a start of pytest takes seconds
def test_programs_of_tests_do_not_inherit_ignored_signals(tmp_path: Path) -> None:
    sample = tmp_path / "test_sample.py"
    numbers = [int(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)]
    sample.write_text(
        "import subprocess, sys\n"
        "def test_sample():\n"
        f"    for number in {numbers}:\n"
        "        code = f'import os; os.kill(os.getpid(), {number})'\n"
        "        assert subprocess.run([sys.executable, '-c', code]).returncode == -number\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fixtures", str(sample)]

    ended = subprocess.run(
        ["/bin/sh", "-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout
