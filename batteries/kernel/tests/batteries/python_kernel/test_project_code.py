"""Interpreters and modules of a project: trust first, then consent to their content."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pi.ai.providers.faux import says
from tests.batteries.python_kernel.kernel_session import (
    DecidingUI,
    cells,
    details,
    session_of,
    texts,
)

AGENT = "home/.pi/agent"
ON = {"eval": {"py": True}}
HERE = "import os\nos.environ.get('VIRTUAL_ENV', 'none').endswith('project/.venv')"
PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def project_environment(work: Path) -> None:
    """A virtual environment in the folder of the session."""
    python = work / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    (work / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")


@pytest.mark.parametrize(("answer", "is_used"), [("Allow", "True"), ("Deny", "False")])
async def test_the_interpreter_of_the_project_runs_after_consent(
    tmp_path: Path, answer: str, is_used: str
) -> None:
    ui = DecidingUI(answer)
    project_environment(tmp_path / "home/project")
    steps = (cells(HERE), cells(HERE))
    async with session_of(tmp_path, *steps, says("."), settings=ON, environ=PATH, ui=ui) as session:
        await session.prompt("go")

        assert texts(session) == [is_used, is_used]
        assert len(ui.asked) == 1
        assert ".venv/bin/python" in ui.asked[0]


async def test_without_a_user_the_interpreter_of_the_project_is_skipped(tmp_path: Path) -> None:
    project_environment(tmp_path / "home/project")
    async with session_of(tmp_path, cells(HERE), says("."), settings=ON, environ=PATH) as session:
        await session.prompt("go")

        assert texts(session) == ["False"]


@pytest.mark.parametrize(("answer", "value"), [("Allow", "'project'"), ("Deny", "'user'")])
async def test_modules_of_the_project_replace_those_of_the_user_after_consent(
    tmp_path: Path, answer: str, value: str
) -> None:
    for folder, text in ((AGENT, "user"), ("home/project/.pi", "project")):
        (tmp_path / folder / "modules").mkdir(parents=True)
        (tmp_path / folder / "modules" / "kit.py").write_text(f"ORIGIN = {text!r}\n")
    (tmp_path / AGENT / "modules/broken.py").write_text("1/0\n")
    settings = {**ON, "defaultProjectTrust": "always"}
    ui, steps = DecidingUI(answer), (cells("1"), cells("globals().get('ORIGIN')"))
    async with session_of(
        tmp_path, *steps, says("."), settings=settings, ui=ui, environ=PATH
    ) as session:
        await session.prompt("go")

        first, second = texts(session)
        assert "[broken.py failed]" in first
        assert "ZeroDivisionError" in first
        assert second == value
        assert [title.partition("?")[0] for title in ui.asked] == ["Run the kernel module kit.py"]


async def test_helpers_emit_status_events(tmp_path: Path) -> None:
    code = "write('a/b.txt', 'one\\ntwo\\n'); append('a/b.txt', 'three\\n')"
    steps = (cells(code, "read('a/b.txt', 2, 1)", "find('**/*.txt')", "sh('echo hi')"),)
    async with session_of(tmp_path, *steps, says(".")) as session:
        await session.prompt("go")

        listed = details(session, 0)["cells"]
        outputs = [cell["output"].strip() for cell in listed]
        assert outputs == ["", "'two\\n'", "['a/b.txt']", "'hi\\n'"]
        operations = [event["op"] for cell in listed for event in cell.get("statusEvents", [])]
        assert operations == ["write", "append", "read", "find", "sh"]


async def test_a_disabled_shared_gateway_is_rejected_with_the_documented_message(
    tmp_path: Path,
) -> None:
    settings = {"eval": {"py": True}, "python": {"sharedGateway": False}}
    async with session_of(
        tmp_path, cells("1"), says("."), settings=settings, environ=PATH
    ) as session:
        await session.prompt("go")

        text = "Shared Python gateway required; local gateways are disabled"
        assert texts(session)[0].startswith(text)
