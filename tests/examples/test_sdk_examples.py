"""What the examples of the Python API print, to the letter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import find_example, folders_of_examples
from tests.sampling import sampled

PRINTED = {
    "sdk_run": "An empty folder, so far.\n",
    "sdk_events": "[population has run]\nAbout two million.\n1 tool call\n",
    "sdk_controlled": "ada: Fine. (stop)\nbob: Too long. (stop)\n",
    "sdk_rpc": (
        "True True\nfrom a shell\nThe RPC server has ended with exit code 1."
        ' Error: Model "unknown/model" not found. Use --list-models to see available models.\n'
    ),
    "sdk_sessions": "1 session: I am Ada.\nYou are Ada.\nHello, Bob.\n",
}


@pytest.mark.parametrize("name", sampled(PRINTED, keep=2))
def test_an_example_prints_the_expected_output(name: str, root: Path, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-W", "error", find_example(root, f"{name}.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (finished.stdout, finished.stderr) == (PRINTED[name], "")


def test_every_sdk_example_has_an_expected_output(root: Path) -> None:
    assert {
        path.stem for folder in folders_of_examples(root) for path in folder.glob("sdk_*.py")
    } == set(PRINTED)


@pytest.mark.slow
def test_examples_satisfy_a_strict_type_checker(root: Path) -> None:
    examples = sorted(path for folder in folders_of_examples(root) for path in folder.glob("*.py"))
    finished = subprocess.run(
        [sys.executable, "-m", "mypy", *examples], cwd=root, capture_output=True, text=True
    )

    assert finished.returncode == 0, finished.stdout
