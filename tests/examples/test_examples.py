from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import ROOT, find_example, folders_of_examples
from tests.cli.program import Program
from tests.sampling import sampled

EXAMPLES = sorted(path for folder in folders_of_examples(ROOT) for path in folder.glob("*.py"))


@pytest.mark.parametrize("example", sampled(EXAMPLES, keep=3), ids=lambda path: path.stem)
def test_every_example_runs_offline_and_shows_something(example: Path, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.strip()


def test_an_agent_can_be_embedded_in_a_few_lines() -> None:
    finished = subprocess.run(
        [sys.executable, find_example(ROOT, "embed_agent.py")], capture_output=True, text=True
    )

    assert finished.stdout == "[add has run]\n2 and 3 make 5.\n"


def test_the_harness_example_continues_a_compacted_conversation() -> None:
    finished = subprocess.run(
        [sys.executable, find_example(ROOT, "agent_harness.py")], capture_output=True, text=True
    )

    assert finished.stdout == "Ahoy, Ada.\nAda introduced herself.\nYou are Ada. 13 entries\n"


@pytest.mark.slow
@pytest.mark.full
def test_the_evaluation_of_this_repository_runs_offline(tmp_path: Path) -> None:
    folder = find_example(ROOT, "evals")
    finished = subprocess.run(
        [sys.executable, folder / "run_evals.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )

    assert finished.returncode == 0, finished.stderr
    assert "10 of 10 passed (100%)" in finished.stdout
    assert len(list((tmp_path / "results/trajectories").glob("*.atif.json"))) == 10


@pytest.mark.full
def test_twenty_repairs_of_a_batch_are_checked(tmp_path: Path) -> None:
    folder = tmp_path / "batch"
    shutil.copytree(
        find_example(ROOT, "batch"), folder, ignore=shutil.ignore_patterns("__pycache__")
    )
    cli = Program(tmp_path, folder)
    before = (folder / "repositories/lists/lists.py").read_text()

    words = ["tasks.jsonl", "-o", "results", "--isolation", "copy", "-e", "scripted_model.py"]
    ended = cli.run("batch", *words, "--model", "faux/faux", "--predictions", "all.jsonl")

    assert ended.code == 0, ended.err
    rows = [
        json.loads(line) for line in (folder / "results/results.jsonl").read_text().splitlines()
    ]
    assert len({row["id"] for row in rows}) == len(rows) == 20
    assert {row["status"] for row in rows} == {"done"}
    assert all(row["patch"].startswith("diff --git") for row in rows)
    assert len((folder / "all.jsonl").read_text().splitlines()) == 20
    assert (folder / "repositories/lists/lists.py").read_text() == before
