"""``pi rewind`` in the shell, ``pi doctor``, and a session that was killed while it restored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.base.processes.children import needs_posix_shell
from tests.cli.program import Ended, Program

pytestmark = [needs_posix_shell, pytest.mark.slow]

MODEL = """\
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    command = "printf 2 > a; printf new > b; rm gone"
    pi.register_provider(ScriptedProvider(calls("bash", command=command), says("ok")))
"""


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    """A session in a folder with files, in which a command has changed them all."""
    program = Program.below(tmp_path)
    program.environ["PI_OFFLINE"] = "1"
    program.write("settings.json", json.dumps({"rewind": {"enabled": True}}))
    (program.cwd / "a").write_text("1")
    (program.cwd / "gone").write_text("here")
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    ended = program.run("-e", str(model), "--model", "faux/faux", "-p", "change the files")
    assert (ended.code, ended.out.strip()) == (0, "ok")
    assert contents_of(program) == {"a": "2", "b": "new"}
    return program


def contents_of(program: Program) -> dict[str, str]:
    return {path.name: path.read_text() for path in program.cwd.iterdir()}


def test_a_session_that_is_not_running_is_rewound(cli: Program) -> None:
    listed = cli.run("rewind")
    output = cli.run("rewind", "1")
    unchanged_files = contents_of(cli)
    done = cli.run("rewind", "1", "--yes")
    restored = contents_of(cli)
    redone = cli.run("rewind", "redo", "--yes")

    assert "change the files" in listed.out
    assert "3 files" in listed.out
    assert [
        row for row in output.out.splitlines() if row.startswith(("create", "change", "remove"))
    ]
    assert "-2\n+1" in output.out.replace("\\ No newline at end of file\n", "")
    assert "Nothing was changed" in output.out
    assert unchanged_files == {"a": "2", "b": "new"}
    assert done.code == 0
    assert restored == {"a": "1", "gone": "here"}
    assert redone.code == 0
    assert contents_of(cli) == {"a": "2", "b": "new"}


@pytest.mark.full
def test_files_changed_outside_of_pi_need_a_decision(cli: Program) -> None:
    (cli.cwd / "b").write_text("mine")
    refused = cli.run("rewind", "1", "--yes")
    unchanged = contents_of(cli)
    ended = cli.run("rewind", "1", "--yes", "--changed", "keep")

    assert refused.code == 1
    assert "changed outside of pi" in refused.err
    assert unchanged == {"a": "2", "b": "mine"}
    assert ended.code == 0
    assert contents_of(cli) == {"a": "1", "b": "mine", "gone": "here"}


@pytest.mark.full
def test_invalid_arguments_are_rejected_and_the_store_is_reported(cli: Program) -> None:
    ends: list[Ended] = [
        cli.run("rewind", "7"),
        cli.run("rewind", "1", "--yes", "--only", "nonsense"),
        cli.run("rewind", "recover"),
        cli.run("doctor"),
    ]

    assert [end.code for end in ends[:3]] == [1, 1, 0]
    assert "There is no point 7" in ends[0].err
    assert "Use files or conversation" in ends[1].err
    assert "No rewind was interrupted" in ends[2].out
    assert "of 1.0 GiB in 1 project" in ends[3].out
