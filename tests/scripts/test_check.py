from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check import (
    Tally,
    check_behaviours,
    copy_unsteady,
    count_results,
    judge,
    note_unsteady,
)
from tests.files import put

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
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fixtures", "-c", "pyproject.toml"]
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


def test_unsteady_tests_recorded_in_a_copy_of_the_checkout_are_kept(tmp_path: Path) -> None:
    names, copy = tmp_path / "unsteady.txt", tmp_path / "copy.txt"
    names.write_text("# why\nold::test\n")
    copy.write_text("# why\nold::test\nnew::test\n")

    copy_unsteady(copy, names)

    assert names.read_text() == "# why\nold::test\nnew::test\n"


UNSTEADY = """
import pytest
from pathlib import Path

@pytest.mark.timing
def test_passes_the_second_time(request):
    mark = Path(__file__).with_suffix(".seen")
    known = mark.exists()
    mark.touch()
    assert known

@pytest.mark.timing
def test_never_passes():
    assert False

def test_is_not_retried():
    mark = Path(__file__).with_suffix(".once")
    known = mark.exists()
    mark.touch()
    assert known

def test_fine():
    pass
"""


def test_each_unsteady_test_is_recorded_even_if_another_one_fails_again(tmp_path: Path) -> None:
    names = tmp_path / "unsteady.txt"
    names.write_text("known\n")
    failed = {"passes": "timing", "known": "timing", "fails": "timing", "other": "plain"}

    assert judge(failed, {"fails": "timing"}, names) == 3
    assert names.read_text() == "known\npasses\n"


@pytest.mark.full
def test_only_tests_marked_timing_are_rerun(root: Path, tmp_path: Path) -> None:
    """Runs the real script with the real options of pytest in a separate checkout."""
    scripts = [f"scripts/{path.name}" for path in root.glob("scripts/*.py")]
    for name in (
        *scripts,
        "pyproject.toml",
        "conftest.py",
        "tests/fixtures.py",
        "tests/bounded.py",
    ):
        put(tmp_path / name, (root / name).read_text())
    put(tmp_path / "tests/unsteady.txt", "# why\n")
    put(tmp_path / "tests/test_it.py", UNSTEADY)

    def run() -> tuple[int, str]:
        finished = subprocess.run(
            [sys.executable, "scripts/check.py", "--tests"],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )
        return finished.returncode, finished.stdout

    code, output = run()
    noted = (tmp_path / "tests/unsteady.txt").read_text()
    (tmp_path / "tests/test_it.seen").unlink()
    _, second = run()

    assert (code, output.splitlines()[-1]) == (1, "test: 2 passed, 2 failed, 0 skipped")
    assert noted == "# why\ntests/test_it.py::test_passes_the_second_time\n"
    assert "test_passes_the_second_time is unsteady again" in second
    assert second.splitlines()[-1] == "test: 2 passed, 2 failed, 0 skipped"


@pytest.mark.full
def test_failures_are_written_with_their_kind_and_full_tests_are_deselected(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_mixed.py").write_text(MIXED)
    failures, results = tmp_path / "failures", tmp_path / "results.xml"

    output = run_pytest(root, tmp_path, f"--failures={failures}", f"--junitxml={results}")

    assert "1 deselected" in output
    kinds = [line.split("\t")[0] for line in failures.read_text().splitlines()]
    assert kinds == ["plain", "timing"]
    tally = Tally()
    assert count_results(results, tally)
    assert (tally.passed, tally.failed) == (1, 2)


@pytest.mark.full
def test_full_tests_run_with_the_full_option(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mixed.py").write_text(MIXED)

    assert "2 failed, 2 passed" in run_pytest(root, tmp_path, "--full")


def test_behaviour_marks_are_counted_and_an_unknown_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, tests = tmp_path / "behaviours.md", tmp_path / "tests"
    page.write_text(
        "# Behaviours\n\n- `one-thing`: One.\n- `two-things`: Two.\n- `third`: Three.\n"
    )
    mark = "pytest." + "mark.behaviour"
    put(tests / "test_a.py", f'@{mark}("one-thing", "third")\ndef test_a(): ...\n')

    assert check_behaviours(page, tests) == Tally(passed=1)
    assert "behaviours: 2 of 3 marked; not yet: two-things\n" in capsys.readouterr().out

    put(tests / "test_b.py", f'@{mark}(\n    "one-thng",\n)\ndef test_b(): ...\n')

    assert check_behaviours(page, tests) == Tally(failed=1)
    assert "test_b.py: 'one-thng' is not in behaviours.md" in capsys.readouterr().out


def test_help_exits_with_zero(root: Path) -> None:
    words = [sys.executable, "scripts/check.py", "--help"]
    ended = subprocess.run(words, cwd=root, text=True, capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "./test --quick" in ended.stdout
