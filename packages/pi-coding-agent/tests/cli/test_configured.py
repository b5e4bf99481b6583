from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.cli.arguments import Arguments
from pi.cli.command_context import is_trusted, local_machine, session_dir_here
from pi.coding.runtime.machine import Machine, settings_here


def project(tmp_path: Path, *, trusted: bool) -> tuple[Machine, Path]:
    host, cwd = Machine.from_environ({"HOME": str(tmp_path)}), tmp_path / "work"
    (cwd / ".pi").mkdir(parents=True)
    (cwd / ".pi" / "settings.json").write_text('{"sessionDir": "theirs"}')
    host.agent_dir.mkdir(parents=True)
    (host.agent_dir / "trust.json").write_text(json.dumps({str(cwd): trusted}))
    return host, cwd


def test_settings_of_a_project_are_used_only_if_it_is_trusted(tmp_path: Path) -> None:
    host, cwd = project(tmp_path / "a", trusted=False)
    trusting, there = project(tmp_path / "b", trusted=True)

    assert settings_here(host, cwd).values.session_dir is None
    assert settings_here(trusting, there).values.session_dir == "theirs"
    assert session_dir_here(Arguments(), trusting, there) == there / "theirs"


def test_flag_variable_and_setting_name_the_folder_of_sessions(tmp_path: Path) -> None:
    _, cwd = project(tmp_path, trusted=True)
    host = Machine.from_environ({"HOME": str(tmp_path), "PI_CODING_AGENT_SESSION_DIR": "/variable"})
    flag = Arguments(options={"session_dir": "flag"})

    assert session_dir_here(flag, host, cwd) == cwd / "flag"
    assert session_dir_here(Arguments(), host, cwd) == Path("/variable")


def test_without_a_setting_there_is_no_session_directory(tmp_path: Path) -> None:
    host = Machine.from_environ({"HOME": str(tmp_path)})

    assert session_dir_here(Arguments(), host, tmp_path) is None


@pytest.mark.parametrize(
    ("trusted", "approve", "key"),
    [(True, None, "theirs"), (False, None, None), (False, True, "theirs"), (True, False, None)],
)
def test_variables_of_a_project_are_used_only_if_it_is_trusted_or_approved(
    tmp_path: Path, key: str | None, *, trusted: bool, approve: bool | None
) -> None:
    host, cwd = project(tmp_path, trusted=trusted)
    (cwd / ".env").write_text("GROQ_API_KEY=theirs\nHOME=/elsewhere\n")

    machine = local_machine(host.environ, cwd, report=pytest.fail, approve=approve)

    assert (machine.environ.get("GROQ_API_KEY"), machine.home) == (key, host.home)
    assert ("GROQ_API_KEY" in machine.from_dotenv) == (key is not None)


def test_the_setting_always_trusts_projects_without_a_stored_decision(tmp_path: Path) -> None:
    host, cwd = project(tmp_path, trusted=False)
    (host.agent_dir / "settings.json").write_text('{"defaultProjectTrust": "always"}')

    assert (is_trusted(host, cwd), is_trusted(host, tmp_path)) == (False, True)
