from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pi.coding.tools.programs import SearchPrograms
from tests.files import executable


def test_programs_on_path_are_preferred_to_those_of_the_agent(tmp_path: Path) -> None:
    on_path, own = executable(tmp_path / "path/rg"), executable(tmp_path / "bin/rg")
    fdfind = executable(tmp_path / "path/fdfind")
    environ = {"PATH": str(tmp_path / "path"), "SECRET": "x", "HOME": "/home/me"}

    programs = SearchPrograms(lambda: environ, agent_bin=tmp_path / "bin")
    without_path = SearchPrograms(lambda: {"PATH": os.devnull}, agent_bin=tmp_path / "bin")

    assert (programs.rg, programs.fd, without_path.rg, without_path.fd) == (
        on_path,
        fdfind,
        own,
        None,
    )
    assert "SECRET" not in programs.environment
    assert programs.environment["HOME"] == "/home/me"


def test_ripgrep_is_bundled() -> None:
    rg = SearchPrograms(lambda: {"PATH": os.devnull}).rg

    assert rg is not None
    result = subprocess.run([rg, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("ripgrep ")


def test_bundled_programs_can_be_disabled() -> None:
    programs = SearchPrograms(lambda: {"PATH": os.devnull}, bundled=False)

    assert (programs.rg, programs.fd) == (None, None)
