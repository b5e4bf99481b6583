from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pi.version
from pi.cli.main import main
from tests.ai.loopback import NOWHERE
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.sampling import sampled

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("argv", [["-v"], ["--version"], ["--version", "--bogus"], ["-p", "-v"]])
def test_the_version_is_printed_bare(argv: list[str], capsys: Captured) -> None:
    assert main(argv) == 0

    assert capsys.readouterr() == (f"{pi.version.__version__}\n", "")


def test_an_error_and_its_hint_are_one_line_each(capsys: Captured) -> None:
    assert main(["--mdoe", "json"]) == 1

    assert capsys.readouterr() == (
        "",
        "Error: Unknown option: --mdoe\nDid you mean --mode?\n",
    )


def test_printing_the_version_imports_no_heavy_modules() -> None:
    probe = (
        "import sys; from pi.cli.main import main; main(['--version']);"
        "heavy = {'asyncio', 'msgspec', 'argparse', 'json', 'httptools', 'ssl', 're', 'typing'};"
        "sys.exit(f'loaded: {heavy}' if (heavy := heavy & set(sys.modules)) else 0)"
    )

    finished = subprocess.run(
        # Without site: an editable installation loads some of them on its own.
        [sys.executable, "-S", "-c", probe],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(Path(folder).parent) for folder in pi.__path__),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr


def test_python_dash_m_pi_is_the_same_program(tmp_path: Path) -> None:
    assert Program.below(tmp_path).run("--version") == (0, f"{pi.version.__version__}\n", "")


def test_control_sequences_are_removed_from_error_messages(
    tmp_path: Path, capsys: Captured
) -> None:
    assert main(["--export", "\x1b]0;gone\x07.jsonl"], {"HOME": str(tmp_path)}) == 1
    assert main(["--mode", "\x1b[31m"]) == 1

    assert "\x1b" not in capsys.readouterr().err


class Broken(dict[str, str]):
    """An environment that fails in the middle of a command."""

    def get(self, name: str, default: Any = None) -> Any:
        if name == "PI_CODING_AGENT_SESSION_DIR":
            raise ValueError("this is a bug")
        return super().get(name, default)


def test_an_unexpected_exception_is_one_line_unless_pi_debug_is_set(
    tmp_path: Path, capsys: Captured
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()  # no log can be written below it
    bad = {"PI_CODING_AGENT_DIR": str(blocked / "agent")}

    assert main(["sessions"], Broken(bad)) == 1
    assert capsys.readouterr().err == (
        "Error: ValueError('this is a bug')\nPI_DEBUG=1 shows the traceback.\n"
    )
    with pytest.raises(ValueError, match="this is a bug"):
        main(["sessions"], Broken(bad, PI_DEBUG="1"))


def test_the_message_of_an_unexpected_exception_names_the_log(
    tmp_path: Path, capsys: Captured
) -> None:
    agent_dir = tmp_path / "agent"
    environ = Broken({"PI_CODING_AGENT_DIR": str(agent_dir)})
    assert main(["sessions"], environ) == 1

    assert f"\nLogged in {agent_dir / 'pi.log'}; PI_DEBUG=1 shows" in capsys.readouterr().err
    assert "ValueError: this is a bug" in (agent_dir / "pi.log").read_text()


@pytest.mark.full
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    nowhere = str(tmp_path / ("x" * 300))
    program = Program(tmp_path / "home", tmp_path, {"PI_CODING_AGENT_DIR": nowhere})

    code, _, reported = program.run("-p", "--model", "demo/tour", "hi")

    message, end = reported.splitlines()[-2:]
    assert (code, end) == (1, "PI_DEBUG=1 shows the traceback.")
    assert message.startswith("Error: ")
    assert nowhere in message
    assert "Traceback" not in reported


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the directory cannot be removed")
def test_a_directory_that_is_gone_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    leave = f'rmdir "{folder}" && exec "{sys.executable}" -m pi "$@"'

    finished = subprocess.run(
        ["sh", "-c", leave, "sh", "-p", "hi"],
        cwd=folder,
        env={"HOME": str(tmp_path), "PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (finished.returncode, finished.stdout, finished.stderr) == (
        1,
        "",
        "Error: The current directory no longer exists.\nChange to another directory first.\n",
    )


def test_the_traceback_is_shown_with_pi_debug(tmp_path: Path) -> None:
    plain = Program.below(tmp_path).run("--mode", "x")
    debug = Program(tmp_path / "home", tmp_path, {"PI_DEBUG": "1"}).run("--mode", "x")

    assert plain == (1, "", 'Error: Invalid mode "x". Valid values: text, json, rpc, acp\n')
    assert (debug.code, debug.err.splitlines()[0]) == (1, "Traceback (most recent call last):")


@pytest.mark.skipif(os.name != "posix", reason="/dev/full and closing streams are of POSIX")
@pytest.mark.parametrize("closed", sampled([">&-", "<&-", "2>&-", "<&- >&- 2>&-"], keep=1))
def test_help_succeeds_with_closed_standard_streams(tmp_path: Path, closed: str) -> None:
    finished = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m pi --help {closed}'],
        env=Program.below(tmp_path).variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert (finished.returncode, finished.stderr) == (0, "")


def test_characters_that_the_output_encoding_lacks_are_replaced(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")

    ended = cli.run("--help")

    assert (ended.code, ended.err) == (0, "")
    assert "[@files?]" in ended.out


def test_a_project_cannot_replace_python_modules_of_pi(
    tmp_path: Path,
) -> None:
    for name in ("asyncio", "msgspec", "logging"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the project ran')\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pi", "models", "tour"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], **NOWHERE},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "demo" in ended.stdout
