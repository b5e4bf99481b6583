from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pi.base.processes import pty_relay
from pi.base.processes.pty_relay import FRAME, SIZE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals are those of POSIX")


def relay(*command: str, keys: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    script = str(Path(pty_relay.__file__))
    return subprocess.run(
        [sys.executable, "-I", "-S", script, "80", "24", *command],
        input=keys,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_the_relay_has_the_exit_code_and_the_whole_output_of_its_command() -> None:
    done = relay("bash", "-c", "seq 1 20000; exit 7")

    assert done.returncode == 7
    assert done.stdout == "".join(f"{n}\r\n" for n in range(1, 20001)).encode()


def test_several_frames_in_one_read_are_handled() -> None:
    keys = FRAME.pack(b"r", SIZE.size) + SIZE.pack(90, 20) + FRAME.pack(b"i", 2) + b"x\n"

    done = relay("bash", "-c", "stty -echo; read line; echo $line; stty size", keys=keys)

    assert done.stdout.splitlines()[-2:] == [b"x", b"20 90"]


def test_a_command_that_does_not_exist_fails() -> None:
    assert relay("/no/such/program").returncode != 0


def test_without_a_pty_the_command_runs_with_empty_input() -> None:
    script = """
import sys
from pi.base.processes.pty_relay import main

def none_left():
    raise OSError(2, "out of pty devices")

sys.exit(main(sys.argv[1:], open_terminal=none_left))
"""
    command = ["bash", "-c", "cat; test -t 1 || echo pipe; exit 5"]

    done = subprocess.run(
        [sys.executable, "-c", script, "80", "24", *command],
        input=FRAME.pack(b"i", 2) + b"x\n",
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout.decode()) == (
        5,
        "PTY error: out of pty devices; the command runs without a terminal.\npipe\n",
    )
