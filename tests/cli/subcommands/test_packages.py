from __future__ import annotations

import pytest

from pi.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_there_are_no_packages(capsys: Captured) -> None:
    assert main(["list"], {}) == 0

    assert capsys.readouterr().out == "No packages installed.\n"


@pytest.mark.parametrize("command", ["install", "remove", "uninstall", "update", "config"])
def test_what_comes_later_says_so(command: str, capsys: Captured) -> None:
    assert main([command, "-a", "x"], {}) == 1

    assert capsys.readouterr().err.startswith(
        f"Error: `pi {command}` comes with a later version, together with packages.\n"
    )
