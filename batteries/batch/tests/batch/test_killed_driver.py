"""A killed batch: every session has all of its turns but the one that ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.base.processes.children import needs_posix_shell
from tests.batch.scripts import write_tasks
from tests.cli.program import Program

pytestmark = [needs_posix_shell, pytest.mark.slow]

QUIET = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
MODEL = """
import os
from pi.ai import ToolResultMessage, UserMessage
from pi.testing import ScriptedProvider, calls


def answer(call):
    content = next(m.content for m in call.messages if isinstance(m, UserMessage))
    text = content if isinstance(content, str) else "".join(block.text for block in content)
    file = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (text + chr(10)).encode())
    os.close(file)
    return calls("ls")


def extension(pi):
    pi.register_provider(ScriptedProvider(answer))
"""


def stored_answers(folder: Path) -> Counter[str]:
    """The answers in the session files of a batch, by prompt."""
    answers: Counter[str] = Counter()
    for path in folder.rglob("*.jsonl"):
        lines = path.read_bytes().split(b"\n")
        # The last line may be cut where the process was killed.
        entries = [json.loads(line) for line in lines[:-1]]
        messages = [row["message"] for row in entries if row["type"] == "message"]
        prompt = next(row["content"] for row in messages if row["role"] == "user")
        text = prompt if isinstance(prompt, str) else prompt[0]["text"]
        # An answer that was cancelled before it began has no content.
        answers[text] = sum(row["role"] == "assistant" and bool(row["content"]) for row in messages)
    return answers


def test_a_killed_driver_loses_at_most_one_turn_of_each_session(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1")
    log, model = tmp_path / "requests", tmp_path / "model.py"
    model.write_text(MODEL.format(log=str(log)))
    write_tasks(cli.cwd / "tasks.jsonl", [{"id": f"t{n}", "prompt": f"go {n}"} for n in range(20)])
    driver = cli.start(
        *("batch", "tasks.jsonl", "-o", "out", "-e", str(model), "--model", "faux/faux"),
        *("--workers", "2", "--per-worker", "10"),
        **QUIET,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and len(log.read_text().splitlines()) > 400:
            break
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()

    requested: Counter[str] = Counter()
    while (now := Counter(log.read_text().splitlines())) != requested:  # the workers end too
        requested = now
        time.sleep(1)
    stored = stored_answers(cli.cwd / "out" / "sessions")
    assert sum(requested.values()) > 400
    assert {requested[text] - stored[text] for text in requested} <= {0, 1}
