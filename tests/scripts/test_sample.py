from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.sample import Sample, choose
from tests.files import put


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    put(tmp_path / "src/pi/base/clock.py", "A = 1\n")
    put(tmp_path / "src/pi/base/files.py", "B = 1\n")
    put(tmp_path / "tests/base/test_clock.py", "from pi.base.clock import A\n")
    put(tmp_path / "tests/base/test_files.py", "from pi.base.files import B\n")
    put(tmp_path / "tests/cli/test_main.py", "import pi.base.clock\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def test_tests_that_import_a_changed_module_are_selected(checkout: Path) -> None:
    put(checkout / "src/pi/base/clock.py", "A = 2\n")

    assert choose(checkout) == Sample(
        touched=("tests/base/test_clock.py", "tests/cli/test_main.py"),
        others=choose(checkout).others,
    )
    assert set(choose(checkout).others) <= {"tests/base/test_files.py"}


def test_the_last_commit_is_used_if_there_is_no_pending_change(checkout: Path) -> None:
    put(checkout / "tests/base/test_files.py", "from pi.base.files import B# again\n")
    commit(checkout)

    chosen = choose(checkout)

    assert chosen.touched == ("tests/base/test_files.py",)
    assert "tests/cli/test_main.py" in chosen.others  # the only one of its folder
