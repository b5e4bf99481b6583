"""``run``: one question from a plain script, a notebook, or a program that packs pi."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.ai.errors import BadRequest
from pi.coding.runtime.embedding import (
    RunFailed,
    run,
)
from pi.testing import calls, says
from scripts.workspace import ROOT, below_pi, source_files
from tests.coding.runtime.program import Program, add


def test_run_returns_the_text_of_the_answer_and_emits_events(tmp_path: Path) -> None:
    program = Program(tmp_path, calls("add", a=1, b=1), says("Two."))
    received: list[str] = []
    answer = run(
        "1 + 1?",
        on_event=lambda event: received.append(type(event).__name__),
        **program.options(custom_tools=[add]),
    )

    assert answer == "Two."
    assert received[0] == "AgentStart"
    assert received[-1] == "AgentSettled"


async def test_run_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    program = Program(tmp_path, says("From a notebook."))

    assert run("hi", **program.options()) == "From a notebook."
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pi")]


def test_run_raises_a_failure_with_its_reason(tmp_path: Path) -> None:
    program = Program(tmp_path, BadRequest("no such deployment"))

    with pytest.raises(RunFailed, match="no such deployment"):
        run("hi", **program.options())


async def test_an_interrupt_ends_the_run_in_the_thread(tmp_path: Path) -> None:
    program = Program(tmp_path, calls("bash", command="sleep 60"))
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    def interrupt(event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            signal.pthread_kill(main_thread, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as a notebook has it
    try:
        with pytest.raises(KeyboardInterrupt):
            run("hi", on_event=interrupt, **program.options())
    finally:
        signal.signal(signal.SIGINT, before)


# Packed into another program ----------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.behaviour("embedding-is-self-contained")
@pytest.mark.slow
def test_missing_package_files_do_not_raise(tmp_path: Path) -> None:
    copy = tmp_path / "packed"
    for module in source_files(ROOT):
        target = copy / "pi" / below_pi(module)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(module.read_bytes())
    program = (
        "import sys, pi.version\n"
        "from pi.ai.providers.faux import FauxProvider, says\n"
        "from pi.sdk import discover_models, run\n"
        "assert pi.version.__file__.startswith(sys.argv[1])\n"
        "models = discover_models()\n"
        "models.models.register(FauxProvider(says('Here.')))\n"
        "print(run('Where?', model='faux/faux', model_registry=models))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(copy)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )

    assert (finished.stdout, finished.stderr) == ("Here.\n", "")
