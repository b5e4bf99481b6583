"""Evaluations with Inspect's own runner, bridge and local sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pi.version import __version__
from scripts.workspace import ROOT, import_path

FOLDER = Path(__file__).parents[2]
PYTHON = ROOT / ".oracles" / "inspect" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="needs scripts/oracles"),
]


async def evaluate(folder: Path, *answers: dict[str, Any], **job: Any) -> dict[str, Any]:
    """The log of an evaluation with one sample."""
    program = folder / "pi"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m pi \"$@\"\n")
    program.chmod(0o755)
    options = {"program": str(program), "env": {"PYTHONPATH": import_path(ROOT)}}
    defaults = {"answers": answers, "target": "finished", "logs": str(folder / "logs")}
    process = await asyncio.create_subprocess_exec(
        *(str(PYTHON), str(Path(__file__).parent / "oracle_evaluation.py")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(FOLDER / "src")},
    )
    given = defaults | job | {"options": options | job.get("options", {})}
    output, errors = await process.communicate(json.dumps(given).encode())
    assert process.returncode == 0, errors.decode()[-3000:]
    return dict(json.loads(output))


def calls(command: str) -> dict[str, Any]:
    """An answer with a command."""
    return {"call": "bash", "arguments": {"command": command}}


async def test_a_task_is_solved_and_its_log_has_every_step(tmp_path: Path) -> None:
    answers = (calls("echo one"), {"text": "I am finished."})
    log = await evaluate(tmp_path, *answers, options={"system_prompt": "Be brief."})

    roles = [role for role, _ in log["messages"]]
    assert (log["status"], log["error"], log["sample error"]) == ("success", None, None)
    assert log["scores"] == {"includes": "C"}
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert "Be brief." in log["messages"][0][1]
    assert log["messages"][3][1] == "one\n"


async def test_tools_of_the_evaluation_run_on_the_host(tmp_path: Path) -> None:
    answers = (
        {"call": "mcp__host__lookup", "arguments": {"word": "aqua"}},
        {"text": "I am finished."},
    )
    log = await evaluate(tmp_path, *answers, tools=True, as_solver=True)

    assert log["scores"] == {"includes": "C"}
    assert ["tool", "aqua means water"] in log["messages"]


async def test_a_run_without_turns_left_is_scored(tmp_path: Path) -> None:
    answers = [calls("echo finished") for _ in range(4)]
    log = await evaluate(tmp_path, *answers, options={"max_turns": 2})

    assert (log["status"], log["sample error"]) == ("success", None)
    assert [role for role, _ in log["messages"]].count("assistant") == 2


async def test_a_limit_of_the_evaluation_ends_the_run(tmp_path: Path) -> None:
    answers = [calls("echo one") for _ in range(9)]
    log = await evaluate(tmp_path, *answers, limits={"message_limit": 6})

    assert (log["status"], log["limit"]) == ("success", "message")


async def test_a_failure_is_an_error_of_the_sample(tmp_path: Path) -> None:
    log = await evaluate(tmp_path, {"text": "never"}, options={"options": ["--no-such-option"]})

    assert "exit code 1" in (log["sample error"] or log["error"])
    assert "--no-such-option" in (log["sample error"] or log["error"])


def test_the_module_is_imported_without_inspect() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import pi_inspect; print(pi_inspect.__all__)"],
        env={"PYTHONPATH": str(FOLDER / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "['pi', 'pi_solver']\n"


def test_the_package_has_the_version_of_pi() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
