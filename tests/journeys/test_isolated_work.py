"""Work in copies of a repository: isolated agents, and batches."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey


def make_repository(folder: Path) -> None:
    (folder / "list").write_text("one\ntwo\nthree\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def run_agent(journey: Journey, change: str, change_of_user: str) -> str:
    """Run an isolated agent during which the user edits, too; returns the result of the task."""
    make_repository(journey.home.cwd)
    journey.home.use_settings(task={"enabled": True})
    command = f"sed -i {change} list; sed -i {change_of_user} {journey.home.cwd}/list"
    task = {"name": "agent", "agent": "task", "task": "Change it.", "isolated": True}
    journey.model.script(
        calls("task", tasks=[task]),
        calls("bash", command=command),
        calls("yield", data="ok"),
        says("Done."),
    )
    ended = journey.pi("--approve", "-p", "go")
    assert ended.code == 0, ended.err
    return journey.model.results_of()[0]


def test_changes_of_lines_one_and_three_of_a_file_do_not_conflict(journey: Journey) -> None:
    result = run_agent(journey, "s/three/THREE/", "s/one/ONE/")

    assert (journey.home.cwd / "list").read_text() == "ONE\ntwo\nTHREE\n", result
    assert "Its changes were merged" in result


def test_a_conflict_is_shown_with_both_sides(journey: Journey) -> None:
    result = run_agent(journey, "s/three/agent/", "s/three/user/")

    assert (journey.home.cwd / "list").read_text() == "one\ntwo\nuser\n"
    sides = "<<<<<<< your file\nuser\n=======\nagent\n>>>>>>> the agent"
    assert sides in result, result
    assert "branch pi/agent" in result


@pytest.mark.full
@pytest.mark.timeout(600)
def test_400_tasks_in_one_repository_lose_no_attempt(journey: Journey) -> None:
    make_repository(journey.home.cwd)
    rows = [{"id": f"t{n}", "prompt": "go", "cwd": str(journey.home.cwd)} for n in range(400)]
    tasks = journey.home.write_work("../tasks.jsonl", "".join(f"{json.dumps(r)}\n" for r in rows))
    out = journey.home.cwd.parent / "out"
    journey.seconds = 540
    arguments = ("--workers", "4", "--per-worker", "8", "--retries", "0")
    ended = journey.pi("batch", str(tasks), "-o", str(out), *arguments)

    assert ended.code == 0, ended.out + ended.err
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {row["status"] for row in results} == {"done"}
    assert {row["id"] for row in results} == {row["id"] for row in rows}
