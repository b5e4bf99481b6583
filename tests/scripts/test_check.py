from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check import Tally, count_results, note_unsteady

MIXED = """
import pytest

@pytest.mark.timing
def test_slow_machine():
    assert False

def test_broken():
    assert False

def test_fine():
    pass

@pytest.mark.full
def test_volume():
    pass
"""


def run_pytest(root: Path, folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", "pyproject.toml"]
    finished = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:randomly", *options, str(folder)],
        cwd=root,
        text=True,
        capture_output=True,
        check=False,
    )
    return finished.stdout


def test_an_unsteady_test_is_noted_once_and_fails_the_next_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tmp_path / "unsteady.txt"
    names.write_text("# why\nold::test\n")

    assert note_unsteady(["new::test"], names) == 0
    assert names.read_text() == "# why\nold::test\nnew::test\n"
    assert note_unsteady(["new::test", "old::test", "other::test"], names) == 2
    assert names.read_text().count("new::test") == 1
    assert "old::test is unsteady again" in capsys.readouterr().out


def test_failures_are_written_with_the_way_they_are_marked(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mixed.py").write_text(MIXED)
    failures, results = tmp_path / "failures", tmp_path / "results.xml"

    run_pytest(root, tmp_path, f"--failures={failures}", f"--junitxml={results}")

    kinds = [line.split("\t")[0] for line in failures.read_text().splitlines()]
    assert kinds == ["plain", "timing"]
    tally = Tally()
    assert count_results(results, tally)
    assert (tally.passed, tally.failed) == (1, 2)


def test_the_full_volume_runs_only_when_asked_for(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mixed.py").write_text(MIXED)

    assert "1 deselected" in run_pytest(root, tmp_path)
    assert "2 failed, 2 passed" in run_pytest(root, tmp_path, "--full")
