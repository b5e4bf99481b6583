"""Nothing that a shell session has started outlives pi, however pi ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.base.processes.children import alive, needs_posix_shell
from tests.cli.program import Program
from tests.sampling import sampled

pytestmark = [needs_posix_shell, pytest.mark.slow]

TIMEOUT_SECONDS = 60.0
MODEL = """\
import json
from pathlib import Path
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    steps = json.loads(Path({file!r}).read_text())
    pi.register_provider(ScriptedProvider(*(calls("bash", **step) for step in steps), says("ok")))
"""


def wait_until(happened: object) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)  # another process needs the processor


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("state", sampled(["busy", "idle", "job"], keep=1))
def test_kill_9_leaves_no_child(tmp_path: Path, state: str) -> None:
    cli = Program.below(tmp_path)
    cli.write("settings.json", json.dumps({"bash": {"extended": True}, "async": {"enabled": True}}))
    pids = tmp_path / "pids"
    start = f"setsid sleep 600 & echo $! >> {pids}; echo $$ >> {pids}"
    steps: list[dict[str, object]] = [{"command": start}]
    if state == "busy":
        steps.append({"command": f"echo $BASHPID >> {pids}; sleep 600"})
    if state == "job":
        steps.append({"command": f"echo $BASHPID >> {pids}; sleep 600", "async": True})
    file, model = tmp_path / "steps.json", tmp_path / "model.py"
    file.write_text(json.dumps(steps))
    model.write_text(MODEL.format(file=str(file)))
    arguments = ["-e", str(model), "--model", "faux/faux", "--mode", "rpc", "--no-session"]
    program = subprocess.Popen(
        [sys.executable, "-m", "pi", *arguments],
        cwd=cli.cwd,
        env=cli.variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        program.stdin.write('{"type": "prompt", "message": "go"}\n')
        program.stdin.flush()
        count = 2 if state == "idle" else 3
        wait_until(lambda: pids.exists() and pids.read_text().count("\n") == count)
        if state == "idle":
            while "agent_settled" not in program.stdout.readline():
                pass
        children = [int(pid) for pid in pids.read_text().split()]
        assert all(alive(pid) for pid in children)
        os.kill(program.pid, signal.SIGKILL)
        program.wait(TIMEOUT_SECONDS)
        wait_until(lambda: not any(alive(pid) for pid in children))
    finally:
        program.kill()
        program.wait(TIMEOUT_SECONDS)
        program.stdin.close()
        program.stdout.close()
