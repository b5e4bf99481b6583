"""Rollouts with verifiers' own runner, interception server and subprocess runtime."""

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
from tests.modes.acp.harbor.runs import Json, Reply, Run, scripted_models

FOLDER = Path(__file__).parents[2]
PYTHON = ROOT / ".oracles" / "verifiers" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="needs scripts/oracles"),
]


async def rollout(folder: Path, *replies: Reply, **job: Any) -> Json:
    """The report of a rollout with scripted answers of the model."""
    program = folder / "pi"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m pi \"$@\"\n")
    program.chmod(0o755)
    run = Run(name="rollout", features=(), instruction="", replies={"MAIN": replies})
    async with scripted_models() as models:
        models.load(run)
        defaults = {
            "prompts": ["MAIN Do it"],
            "command": [str(program)],
            "env": {"PYTHONPATH": import_path(ROOT)},
            "url": f"{models.url}/v1",
        }
        process = await asyncio.create_subprocess_exec(
            *(str(PYTHON), str(Path(__file__).parent / "oracle_rollouts.py")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "PYTHONPATH": str(FOLDER / "src"),
                "MODEL_KEY": "key",
            },
        )
        output, errors = await process.communicate(json.dumps(defaults | job).encode())
    assert process.returncode == 0, errors.decode()[-3000:]
    return dict(json.loads(output)) | {"not in the script": models.unknown}


def calling(number: int, command: str, **fields: Any) -> Reply:
    """An answer with a command."""
    call = (f"c{number}", "bash", {"command": command})
    return Reply(calls=(call,), text=f"Step {number}.", **fields)


def results(report: Json) -> dict[str, str]:
    """The results of calls, as the model sees them."""
    return {
        node["tool_call_id"]: str(node["content"])
        for node in report["nodes"]
        if node["role"] == "tool"
    }


async def test_every_turn_is_one_node_also_after_failed_requests(tmp_path: Path) -> None:
    replies: list[Reply] = []
    for number in range(50):
        if number % 5 == 4:
            replies.append(Reply(status=500, text="try again"))
        replies.append(calling(number, f"echo {number}"))
    report = await rollout(tmp_path, *replies, Reply(text="Done."), system="Be brief.")

    answers = [node for node in report["nodes"] if node["role"] == "assistant"]
    assert report["errors"] == []
    assert report["turns"] == len(answers) == 51
    assert report["reply"] == "Done."
    assert results(report) == {f"c{number}": f"{number}\n" for number in range(50)}
    assert "Be brief." in json.dumps(report["nodes"][0])


async def test_the_gate_denies_calls_before_they_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    replies = [
        calling(number, f"touch {marker}-denied" if number % 2 else f"echo {number}")
        for number in range(10)
    ]
    report = await rollout(tmp_path, *replies, Reply(text="Done."), gated=True)

    seen = results(report)
    assert report["errors"] == []
    assert not list(tmp_path.glob("ran*"))
    assert [seen[f"c{number}"] for number in range(0, 10, 2)] == ["0\n", "2\n", "4\n", "6\n", "8\n"]
    assert {seen[f"c{number}"] for number in range(1, 10, 2)} == {"Not here."}


async def test_messages_reach_a_running_turn_once(tmp_path: Path) -> None:
    replies = [calling(number, "sleep 2") for number in range(8)]
    done = [Reply(text="Done.")] * 10  # a message during the last answer asks for another one
    steering = [f"Message {number}." for number in range(10)]
    report = await rollout(tmp_path, *replies, *done, steering=steering)

    users = [str(node["content"]) for node in report["nodes"] if node["role"] == "user"]
    assert report["errors"] == []
    assert report["receipts"] == ["injected"] * 10
    assert [sum(f"Message {n}." in text for text in users) for n in range(10)] == [1] * 10


async def test_a_rollout_goes_on_with_further_prompts(tmp_path: Path) -> None:
    prompts = ["MAIN Do it", "And this", "And that"]
    replies = (Reply(text="One."), Reply(text="Two."), Reply(text="Three."))
    report = await rollout(tmp_path, *replies, prompts=prompts)

    assert report["errors"] == []
    assert report["turns"] == 3
    assert report["reply"] == "Three."


async def test_a_spent_limit_ends_the_rollout_without_an_error(tmp_path: Path) -> None:
    replies = [calling(number, "true") for number in range(6)]
    report = await rollout(tmp_path, *replies, max_turns=3)

    assert report["stop"] == "max_turns"
    assert report["turns"] == 3
    assert report["errors"] == []


def test_the_module_is_imported_without_verifiers() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import pi_verifiers; print(pi_verifiers.__all__)"],
        env={"PYTHONPATH": str(FOLDER / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "['PiHarness']\n"


def test_the_package_has_the_version_of_pi() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
