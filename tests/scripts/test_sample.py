from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.sample import Sample, choose
from tests.files import put


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    put(tmp_path / "packages/one/pyproject.toml", "[project]\nname = 'one'\n")
    put(tmp_path / "packages/one/src/pi/one/clock.py", "A = 1\n")
    put(tmp_path / "packages/one/src/pi/one/files.py", "B = 1\n")
    put(tmp_path / "packages/one/tests/one/test_clock.py", "from pi.one.clock import A\n")
    put(tmp_path / "packages/one/tests/one/test_files.py", "from pi.one.files import B\n")
    put(tmp_path / "tests/whole/test_main.py", "import pi.one.clock\n")
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
    put(checkout / "packages/one/src/pi/one/clock.py", "A = 2\n")

    assert choose(checkout) == Sample(
        touched=("packages/one/tests/one/test_clock.py", "tests/whole/test_main.py"),
        others=choose(checkout).others,
    )
    assert set(choose(checkout).others) <= {"packages/one/tests/one/test_files.py"}


def test_the_last_commit_is_used_if_there_is_no_pending_change(checkout: Path) -> None:
    put(checkout / "packages/one/tests/one/test_files.py", "from pi.one.files import B# again\n")
    commit(checkout)

    chosen = choose(checkout)

    assert chosen.touched == ("packages/one/tests/one/test_files.py",)
    assert "tests/whole/test_main.py" in chosen.others  # the only one of its folder
