"""Tests of the project run unasked in ``auto-edit``: in a sandbox, where there is one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.journeys.program import Journey


def has_bubblewrap() -> bool:
    """Whether bubblewrap is installed, and the kernel allows its namespaces."""
    command = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/"]
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not has_bubblewrap(),
    reason="needs bubblewrap and a kernel that offers namespaces",
)
TESTS = """\
import pathlib, unittest

class Writes(unittest.TestCase):
    def test_inside(self):
        pathlib.Path("inside.txt").write_text("x")

    def test_outside(self):
        try:
            print("found", pathlib.Path.home().joinpath(".netrc").read_text())
        except OSError:
            print("found nothing")
        pathlib.Path.home().joinpath("outside.txt").write_text("x")
"""
COMMAND = "python3 -m unittest"


@pytest.fixture
def editing(journey: Journey) -> Journey:
    journey.home.use_settings(permissions={"mode": "auto-edit"})
    (journey.home.path / ".netrc").write_text("the password")
    journey.home.write_work("test_it.py", TESTS)
    journey.home.write_work("test_good.py", "import unittest\n")
    return journey


def test_tests_run_unasked_and_can_only_change_the_project(editing: Journey) -> None:
    for _ in range(2):
        editing.model.calls("bash", command=COMMAND)

    ended = editing.pi("-p", "test it")

    assert (ended.code, ended.err) == (0, "")
    first, second = editing.model.results_of()
    assert "Read-only file system" in first
    assert "This ran in a sandbox" in first
    assert "found" in first
    assert "the password" not in first
    assert (editing.home.cwd / "inside.txt").exists()
    assert not (editing.home.path / "outside.txt").exists()
    # What needs more than the sandbox is asked about, and in -p no user can answer.
    assert "needs the consent of the user" in second


def test_a_run_that_needs_more_asks_the_user_and_then_runs_as_usual(editing: Journey) -> None:
    editing.expects("a traceback")  # of the test that fails
    with editing.terminal() as user:
        user.shows("auto-edit (Alt+A)")
        for _ in range(2):
            editing.model.calls("bash", command=COMMAND)
        user.submits("test it")
        user.shows(
            "Allow bash?", COMMAND, "3. Allow for this session", "Bash(python3 -m unittest:*)"
        )
        user.types("3")
        user.sees("All is well.")
        assert (editing.home.path / "outside.txt").exists()
        editing.model.calls("bash", command=f"{COMMAND} -q")
        user.submits("again")
        user.until(lambda: len(editing.model.requests) == 5)
    assert "sandbox" not in editing.model.results_of()[-1]


def test_tests_that_pass_say_nothing_about_the_sandbox(editing: Journey) -> None:
    editing.model.calls("bash", command=f"{COMMAND} test_good && ls -1 *.py")

    editing.pi("-p", "test it")

    assert "sandbox" not in editing.model.results_of()[0]
    assert "test_good.py" in editing.model.results_of()[0]


def test_a_folder_and_limits_of_a_run_need_no_question(editing: Journey) -> None:
    editing.home.use_settings(bash={"extended": True, "session": False})
    more = {"cwd": ".", "env": {}, "timeout": 60, "head": 50, "tail": 50}
    editing.model.calls("bash", command=f"{COMMAND} test_good", **more)

    editing.pi("-p", "test it")

    assert "consent" not in editing.model.results_of()[0]


def test_sub_agents_run_tests_in_the_sandbox_as_well(editing: Journey) -> None:
    editing.home.use_settings(
        permissions={"mode": "auto-edit", "allow": ["task"]}, task={"enabled": True}
    )
    editing.model.calls("task", task="Test it well.", name="tester")
    editing.model.calls("bash", command=COMMAND)

    editing.pi("-p", "go")

    results = [
        text
        for index in range(len(editing.model.requests))
        for text in editing.model.results_of(index)
    ]
    assert any("This ran in a sandbox" in text for text in results), results
    assert not (editing.home.path / "outside.txt").exists()


def test_without_a_sandbox_or_with_rules_about_reads_tests_are_asked_about(
    editing: Journey,
) -> None:
    editing.home.use_settings(permissions={"mode": "auto-edit", "deny": ["Read(.env)"]})
    editing.model.calls("bash", command=COMMAND)

    editing.pi("-p", "test it")

    assert "needs the consent of the user" in editing.model.results_of()[0]
    assert not (editing.home.cwd / "inside.txt").exists()
