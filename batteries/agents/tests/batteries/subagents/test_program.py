"""Sub-agents in the program itself: scripts wait for them, and a killed pi loses no work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.base.processes.children import needs_posix_shell
from tests.batteries.subagents.test_isolation import branches, git, make_repository
from tests.batteries.test_bundled import install
from tests.cli.program import Program

pytestmark = [needs_posix_shell, pytest.mark.slow]

TIMEOUT_SECONDS = 60.0
MODEL = """\
import re
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    script = {script}

    def answer(call):
        found = re.search(r"Your name is ([\\w.-]+)\\. Another agent", str(call.messages[0]))
        steps = script.get(found[1] if found else "", [])
        if steps:
            return steps.pop(0)
        return calls("yield", data="by " + found[1]) if found else says("All is done.")

    pi.register_provider(ScriptedProvider(answer))
"""


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    program.environ["PI_OFFLINE"] = "1"
    program.write("settings.json", json.dumps({"task": {"enabled": True}}))
    return program


def model(cli: Program, script: str) -> tuple[str, ...]:
    path = cli.write("model.py", MODEL.format(script=script))
    return ("-e", str(path), "--model", "faux/faux")


def test_print_mode_waits_for_background_agents(cli: Program) -> None:
    words = model(
        cli,
        '{"": [calls("task", task="x", name="a", background=True), says("It is running.")],'
        ' "a": [calls("bash", command="sleep 0.3; echo hi"), calls("yield", data="found")]}',
    )

    ended = cli.run("-p", *words, "go")

    assert (ended.code, ended.out) == (0, "All is done.\n")


@pytest.mark.full
@pytest.mark.behaviour("worktree-survives-failed-merge")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_work_of_a_killed_program_is_kept_on_a_branch(cli: Program, tmp_path: Path) -> None:
    folder = make_repository(cli.cwd, folder=cli.cwd)
    pid = tmp_path / "pid"
    words = model(
        cli,
        '{"": [calls("task", task="x", name="a", isolated=True)],'
        f' "a": [calls("bash", command="echo work > made; echo $$ > {pid}; sleep 600")]}}',
    )
    program = subprocess.Popen(
        [sys.executable, "-m", "pi", "-p", *words, "go"],
        cwd=cli.cwd,
        env=cli.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: pid.exists() and pid.read_text().strip() != "")
        os.kill(program.pid, signal.SIGKILL)
        program.wait(TIMEOUT_SECONDS)
        wait_until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
    finally:
        program.kill()
        program.wait(TIMEOUT_SECONDS)
    ended = cli.run("-p", *model(cli, "{}"), "hello")
    [branch] = branches(folder)

    assert ended.code == 0
    assert f"Unmerged work of an agent was kept: {branch}" in ended.err
    assert git(folder, "show", f"{branch}:made") == "work\n"
    assert git(folder, "worktree", "list").count("\n") == 1


def wait_until(happened: object) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)  # another process needs the processor
