from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from scripts.executed_figures import SCENARIOS, run_scenarios

MAIN = '''
from pi.base.text import Part, letters, shout


class Owner:
    """Has methods that delegate, and others."""

    def __init__(self) -> None:
        self.part = Part()
        self.queue: list[str] = []

    def put(self, word: str) -> None:
        self.queue.append(word)

    def name(self) -> str:
        """The name."""
        return self.part.name

    async def send(self, *words: str, **options: object) -> None:
        await self.part.send(*words, **options)

    def fixed(self) -> None:
        self.part.send("constant")

    def own(self) -> None:
        self.send()


class AgentSession(Owner):
    def name(self) -> str:
        return self.part.name


def main() -> int:
    import sys

    from pi.cli import late

    late.run()
    print(shout(sys.argv[1]), *letters(), file=sys.stderr)
    return 0
'''
TEXT = """
from functools import lru_cache


class Part:
    name = "part"


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
        "pi/__init__.py": "",
        "pi/cli/__init__.py": "",
        "pi/cli/main.py": MAIN,
        "pi/cli/late.py": "from pi.base import text\nfrom pi.cli import part\ndef run(): ...\n",
        "pi/cli/part.py": "P = 1\n",
        "pi/cli/unused.py": "class Part: ...\nclass _Own: ...\nclass Owner: ...\n",
        "pi/base/__init__.py": "",
        "pi/base/text.py": TEXT,
    }.items():
        file = tmp_path / "src" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    return tmp_path


def figures(root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / "scripts/figures", "--no-runs", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_figures_of_a_source_tree_are_counted(root: Path, checkout: Path) -> None:
    (checkout / "README.md").write_text("In vain.\n")
    file = checkout / "figures.json"

    finished = figures(root, "--root", checkout, "--json", file)

    assert finished.returncode == 0, finished.stderr
    counted = json.loads(file.read_text())["figures"]
    assert {name: value for name, value in counted.items() if value and "lines" not in name} == {
        "files": 8,
        "files without __init__.py": 5,
        "largest file": len(MAIN.splitlines()),
        "largest file without __init__.py": len(MAIN.splitlines()),
        "classes": 6,
        "class names repeated in a layer": 1,  # Owner
        "class names repeated in the tree": 2,  # and Part
        "delegating methods": 2,  # name and send; not put, nor those of the facade
        "single-importer modules": 2,  # late and part
        "single-importer modules, same package": 2,
        "the same, without deferred imports": 1,  # part
        "imports in functions": 2,
        "dialect words in docs": 1,
    }


def test_the_items_of_a_figure_are_listed(root: Path, checkout: Path) -> None:
    listed = figures(root, "--root", checkout, "--list", "delegating methods").stdout

    assert [line.split()[1] for line in listed.splitlines()] == ["Owner.name", "Owner.send"]
    refused = figures(root, "--root", checkout, "--list", "speed")
    assert (refused.returncode, refused.stderr[:28]) == (1, "figures: no figure 'speed'; ")


def test_an_earlier_report_is_compared_with_the_new_figures(root: Path, checkout: Path) -> None:
    file = checkout / "figures.json"
    figures(root, "--root", checkout, "--json", file)
    (checkout / "src/pi/cli/unused.py").unlink()

    rows = figures(root, "--root", checkout, "--compare", file).stdout.splitlines()

    assert rows[0].split() == ["before", "after", "change"]
    assert rows[1].split() == ["files", "8", "7", "-12%"]
    file.write_text("[]")
    refused = figures(root, "--root", checkout, "--compare", file)
    assert (refused.returncode, "is not a file that --json wrote" in refused.stderr) == (1, True)


def test_a_folder_without_the_program_is_rejected(root: Path, tmp_path: Path) -> None:
    finished = figures(root, "--root", tmp_path)

    assert (finished.returncode, "has no src/pi" in finished.stderr) == (1, True)


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
