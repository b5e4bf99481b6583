from __future__ import annotations

import subprocess
import sys

import pytest

import pi
from pi.cli.main import main


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_the_version_is_printed_bare(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0

    assert capsys.readouterr() == (f"{pi.__version__}\n", "")


def test_an_unknown_option_is_an_error_in_one_line_that_says_where_help_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--bogus"]) == 1

    assert capsys.readouterr() == ("", "Error: Unknown option: --bogus\nSee `pi --help`.\n")


def test_asking_for_the_version_imports_nothing_heavy() -> None:
    probe = (
        "import sys; from pi.cli.main import main; main(['--version']);"
        "heavy = {'asyncio', 'msgspec', 'argparse', 'json', 'httptools', 'ssl'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )

    finished = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert finished.returncode == 0, finished.stderr


def test_python_dash_m_pi_is_the_same_program() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "pi", "--version"], capture_output=True, text=True, check=False
    )

    assert (finished.returncode, finished.stdout) == (0, f"{pi.__version__}\n")


def test_an_unknown_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"]) == 1

    assert capsys.readouterr().err == "Error: Unknown command: dance\nSee `pi --help`.\n"


def test_a_bug_is_one_line_unless_one_asks_for_more(capsys: pytest.CaptureFixture[str]) -> None:
    bad: dict[str, str] = {"HOME": "\0"}

    assert main(["models"], bad) == 1
    assert capsys.readouterr().err == (
        "Error: ValueError('embedded null byte') (PI_DEBUG=1 shows where)\n"
    )
    with pytest.raises(ValueError, match="null byte"):
        main(["models"], {**bad, "PI_DEBUG": "1"})
