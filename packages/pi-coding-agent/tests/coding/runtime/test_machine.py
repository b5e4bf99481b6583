"""The machine that an environment describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.runtime.machine import Machine, flag


@pytest.mark.behaviour("embedding-is-self-contained")
def test_the_agent_directory_is_set_by_an_argument_or_a_variable(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PI_CODING_AGENT_DIR": "~/elsewhere"}

    assert Machine.from_environ({"HOME": str(tmp_path)}).agent_dir == tmp_path / ".pi" / "agent"
    assert Machine.from_environ(environ, agent_dir=tmp_path / "x").agent_dir == tmp_path / "x"
    assert Machine.from_environ(environ).agent_dir.name == "elsewhere"


@pytest.mark.parametrize("named", [".mine", "/somewhere/mine"])
def test_another_config_root_moves_the_agent_directory(tmp_path: Path, named: str) -> None:
    environ = {"HOME": str(tmp_path), "PI_CONFIG_DIR": named}

    assert Machine.from_environ(environ).agent_dir == tmp_path / named / "agent"
    assert Machine.from_environ({**environ, "PI_CODING_AGENT_DIR": "/else"}).agent_dir == Path(
        "/else"
    )


def test_the_dotenv_file_of_another_config_root_is_read(tmp_path: Path) -> None:
    (tmp_path / ".mine").mkdir()
    (tmp_path / ".mine" / ".env").write_text("GROQ_API_KEY=k\n")

    host = Machine.from_environ({"HOME": str(tmp_path), "PI_CONFIG_DIR": ".mine"})

    assert host.environ["GROQ_API_KEY"] == "k"


def test_the_documentation_directory_can_be_set(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PI_PACKAGE_DIR": "/somewhere/pi"}

    assert Machine.from_environ(environ).docs == Path("/somewhere/pi/docs")
    assert (Machine.from_environ({"HOME": str(tmp_path)}).docs / "README.md").is_file()


@pytest.mark.parametrize(("value", "yes"), [("1", True), ("TRUE", True), ("0", False), ("", False)])
def test_a_boolean_variable_is_true_for_1_and_true(value: str, yes: bool) -> None:
    assert flag({"PI_OFFLINE": value}, "PI_OFFLINE") is yes
    assert Machine.from_environ({"PI_OFFLINE": value, "HOME": "/h"}).offline is yes
