"""Which outputs are condensed, and which are unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.batteries.shell_session.command_lines import minimise
from tests.base.processes.children import needs_posix_shell
from tests.batteries.shell_session.bash_session import shell, text

PASSED = "".join(f"tests/test_{number}.py::test_x PASSED [ {number}%]\n" for number in range(60))
PYTEST = f"platform linux\n{PASSED}\n===== 60 passed in 1.2s =====\n"
PIP = "".join(f"Requirement already satisfied: p{n} in /x\n" for n in range(60))


def test_progress_output_of_a_successful_command_is_removed() -> None:
    assert minimise("pytest -v", PYTEST, exit_code=0) == (
        "===== 60 passed in 1.2s =====\n[62 lines of progress left out]\n"
    )
    assert minimise("python3 -m pytest -v", PYTEST, exit_code=0) is not None


def test_output_of_a_successful_command_is_never_empty() -> None:
    assert minimise("pip install x", PIP, exit_code=0) == (
        "[60 lines of progress left out] The command succeeded.\n"
    )


@pytest.mark.parametrize("exit_code", [1, 2, 127, 130])
def test_output_of_failing_commands_is_unchanged(exit_code: int) -> None:
    assert minimise("pytest -v", PYTEST, exit_code=exit_code) is None


@pytest.mark.parametrize(
    "command",
    [
        *("cd x && pytest", "pytest; true", "pytest || true", "pytest | cat", "pytest > log"),
        *("! pytest", "pytest &", "for i in 1; do pytest; done", "(pytest)", "X=1 pytest"),
        *("$RUN -v", "pytest $(ls)", "pytest\npip install x", "pytest 'open", "bash -c pytest"),
    ],
)
def test_compound_commands_are_left_alone(command: str) -> None:
    assert minimise(command, PYTEST, exit_code=0) is None


@pytest.mark.parametrize("command", ["cat log", "git log", "pip list", "python3 -m timeit", ""])
def test_other_commands_are_left_alone(command: str) -> None:
    assert minimise(command, PIP, exit_code=0) is None


def test_lines_that_mention_a_problem_stay() -> None:
    output = PIP + "Requirement already satisfied: old (DEPRECATION warning)\n"
    short = minimise("pip install x", output, exit_code=0)

    assert short is not None
    assert "DEPRECATION" in short


def test_short_output_and_small_savings_are_unchanged() -> None:
    assert minimise("pip install x", PIP[:400], exit_code=0) is None
    assert minimise("pip install x", "x" * 90_000 + "\n" + PIP, exit_code=0) is None


def test_a_line_with_many_colons_is_matched_quickly() -> None:
    line = "a" + "::a" * 60 + " was not found"  # took years with backtracking at each ::

    short = minimise("pytest", f"{PYTEST}{line}\n", exit_code=0)

    assert short is not None and line in short and "PASSED" not in short


def test_the_last_state_of_a_progress_bar_stays() -> None:
    output = PIP + "10%\r50%\r100% done\n"
    short = minimise("pip install x", output, exit_code=0)

    assert short is not None
    assert short.startswith("100% done\n")


@needs_posix_shell
async def test_the_full_output_is_stored_as_an_artifact_and_failures_are_unchanged(
    tmp_path: Path,
) -> None:
    async with shell(tmp_path) as bash:
        program = bash.cwd / "pytest"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{PYTEST}END\nexit ${{1:-0}}\n")
        program.chmod(0o755)
        [good, bad, compound] = await bash.run("./pytest", "./pytest 1", "./pytest && true")
        read = bash.hosted.session.artifacts.read(0)

        assert text(good).endswith("[raw output: artifact://0]")
        assert "60 passed" in text(good)
        assert "PASSED" not in text(good)
        assert good.details == {"minimized": {"artifactId": "0", "bytes": len(PYTEST)}}
        assert read == PYTEST
        assert text(bad) == f"{PYTEST}\n\nCommand exited with code 1"
        assert text(compound) == PYTEST


@needs_posix_shell
async def test_the_minimiser_can_be_switched_off(tmp_path: Path) -> None:
    async with shell(tmp_path, settings={"minimizer": {"enabled": False}}) as bash:
        program = bash.cwd / "pytest"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{PYTEST}END\n")
        program.chmod(0o755)

        assert await bash.texts("./pytest") == [PYTEST]
