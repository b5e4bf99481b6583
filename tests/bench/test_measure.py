from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.measure import CannotMeasure, clean_environment, measure, resident_memory, running


def test_cpu_time_includes_waited_for_descendants() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"

    run = measure([sys.executable, "-c", parent])

    assert run.exit_code == 0
    assert 0.2 <= run.cpu < 5


def test_sleeping_counts_as_wall_time_and_not_as_cpu_time() -> None:
    run = measure([sys.executable, "-c", "import time; time.sleep(0.3)"])

    assert 0.3 <= run.wall < 10
    assert run.cpu < 0.3


def test_peak_memory_is_that_of_the_child_and_not_of_the_measuring_process() -> None:
    ballast = bytearray(b"x") * 60_000_000

    small = measure([sys.executable, "-c", "pass"])
    large = measure([sys.executable, "-c", "b = bytearray(b'x') * 50_000_000"])

    assert 4_000_000 < small.peak_memory < len(ballast)
    assert 40_000_000 < large.peak_memory - small.peak_memory < 60_000_000


def test_output_exit_code_and_input_pass_through(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd(), sys.stdin.read()); sys.exit('oops')"

    run = measure([sys.executable, "-c", program], cwd=tmp_path, stdin=b"given")

    assert run.output == f"{tmp_path} given\n".encode()
    assert (run.exit_code, run.error_output) == (1, b"oops\n")


def test_a_killed_child_has_a_negative_exit_code() -> None:
    program = "import os; os.kill(os.getpid(), 9)"

    assert measure([sys.executable, "-c", program]).exit_code == -9


def test_a_hanging_child_is_killed_with_its_group_after_the_deadline(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    program = 'exec > "$0"; echo up; sleep 60; true'

    with os.fdopen(reader) as held:
        with pytest.raises(CannotMeasure, match=r"did not end within 0\.5 s"):
            measure(["sh", "-c", program, str(fifo)], deadline=0.5)

        # The end of file is reached when the shell and its sleep have both ended.
        assert held.read() == "up\n"


def test_a_missing_program_is_reported() -> None:
    with pytest.raises(CannotMeasure, match="cannot start /no/such/program: No such file"):
        measure(["/no/such/program"])


def test_variables_that_slow_python_down_are_removed_from_the_environment() -> None:
    assert clean_environment({"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/h"}) == {"HOME": "/h"}


def test_the_memory_of_a_running_child_can_be_read() -> None:
    program = "b = bytearray(b'x' * 30_000_000); print(flush=True); input()"

    with running([sys.executable, "-c", program]) as child:
        assert child.process.stdout
        child.process.stdout.readline()

        assert 30_000_000 < resident_memory(child.pid) < 200_000_000
