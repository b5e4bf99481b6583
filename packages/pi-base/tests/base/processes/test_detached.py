from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi.base.processes import SpawnFailed, start_detached

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sessions and pipes are of POSIX")

STARTER = """\
import os, sys
from pathlib import Path
from pi.base.processes import start_detached
start_detached(sys.argv[1], env=os.environ, cwd=Path(sys.argv[2]))
"""


def test_a_detached_program_outlives_pi_in_its_own_session_without_our_streams(
    tmp_path: Path,
) -> None:
    ready, go, done = (tmp_path / name for name in ("ready", "go", "done"))
    for pipe in (ready, go, done):
        os.mkfifo(pipe)
    command = 'echo unseen; echo $$ >ready; read word <go; echo "$word $PWD" >done'

    starter = [sys.executable, "-c", STARTER, command, str(tmp_path)]
    ended = subprocess.run(starter, capture_output=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == (b"", b"")  # and it did not keep the pipes open

    pid = int(ready.read_text())
    assert os.getsid(pid) == pid
    go.write_text("hello\n")
    assert done.read_text() == f"hello {tmp_path}\n"


@pytest.mark.parametrize(("command", "cwd"), [("true", "nowhere"), ("a\0b", ".")])
def test_a_detached_program_that_cannot_be_started_raises(
    tmp_path: Path, command: str, cwd: str
) -> None:
    with pytest.raises(SpawnFailed, match=r"^Cannot start "):
        start_detached(command, env={}, cwd=tmp_path / cwd)
