from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pi.base.processes import pip_guard
from pi.base.processes.pip_guard import REFUSED, deny_programs


@pytest.mark.parametrize(
    "event", ["subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system"]
)
def test_starting_a_program_is_refused_and_reported(
    event: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PermissionError, match=REFUSED):
        deny_programs(event, ("python", ["python", "setup.py"], None, None))

    assert capsys.readouterr().err == f"{REFUSED} python\n"


def test_audit_events_other_than_starting_a_program_are_allowed() -> None:
    deny_programs("open", ("x", "r", 0))
    deny_programs("import", ("x",))


def called_from(module: str) -> None:
    """Start a program as a function of ``module`` would."""
    names = {"__name__": module, "deny_programs": deny_programs}
    exec("def start():\n    deny_programs('subprocess.Popen', ('x',))\nstart()", names)


def test_programs_may_be_started_for_the_credentials_of_an_index() -> None:
    called_from("pip._internal.network.auth")


def test_programs_that_pip_does_not_need_are_refused_silently(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(PermissionError):
        called_from("pip._internal.network.session")

    assert capsys.readouterr().err == ""


def test_pip_runs_under_the_guard(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('this is not pip')")
    command = [sys.executable, "-P", str(Path(pip_guard.__file__)), "--version"]

    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert result.stdout.startswith("pip ")
