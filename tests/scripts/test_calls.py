from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from scripts.executed_calls import SCENARIOS, run_scenarios

MAIN = """
def main() -> int:
    import sys

    from pi.base.text import letters, shout
    from pi.cli import late

    late.run()
    print(shout(sys.argv[1]), *letters(), file=sys.stderr)
    return 0
"""
TEXT = """
def shout(text: str) -> str:
    return louder(text)


def louder(text: str) -> str:
    return text.upper()


def letters():
    yield from (letter for letter in "abc")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Write a small program."""
    for path, text in {
        "pi/cli/__init__.py": "",
        "pi/cli/main.py": MAIN,
        "pi/cli/late.py": "def run(): ...\n",
        "pi/base/__init__.py": "",
        "pi/base/text.py": TEXT,
    }.items():
        file = tmp_path / "packages" / "pi-small" / "src" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    (tmp_path / "packages" / "pi-small" / "pyproject.toml").touch()
    return tmp_path


def test_function_calls_are_counted_and_module_bodies_are_not(root: Path, checkout: Path) -> None:
    counter, result = root / "scripts/call_counter.py", checkout / "result.json"

    finished = subprocess.run(
        [sys.executable, "-P", counter, "whole", checkout, result, "hi"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (finished.returncode, finished.stderr) == (0, "HI a b c\n")
    assert json.loads(result.read_text()) == {
        "files": {"base/text.py": 3, "cli/main.py": 1, "cli/late.py": 1},
        "crossing": {"cli/main.py -> base/text.py": 2, "cli/main.py -> cli/late.py": 1},
    }


@pytest.mark.full
@pytest.mark.slow
def test_every_scenario_runs_the_real_program(root: Path) -> None:
    found = run_scenarios(root, rounds=1)

    assert list(found) == list(SCENARIOS)
    assert {name for name, ran in found.items() if len(ran.files) < 10 or not ran.crossing} == set()
    assert "cli/main.py" in found["-p hello"].files
    # Only calls between two marks are counted, not those at the start of the program.
    assert "cli/main.py" not in {**found["key press"].files, **found["/compact"].files}
