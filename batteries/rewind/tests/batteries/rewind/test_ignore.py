"""Ignore files, and what happens to the files that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.batteries.rewind import scan_process
from pi.batteries.rewind.scan_process import ScannerLost
from tests.batteries.rewind.project_fixture import ProjectFixture, ask_process, tree_of


def test_repositories_and_dependencies_are_never_covered(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    for name in (".git", "x/node_modules", ".venv", "x/__pycache__"):
        (project.root / name).mkdir(parents=True)
        (project.root / name / "a").write_text("1")
    project.point("p")

    assert project.history._known.keys() == {"x"}


def test_a_pathological_ignore_pattern_is_matched_quickly(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / ".gitignore").write_text("*a" * 200 + "b\n")
    (project.root / ("a" * 200)).write_text("1")
    project.point("p")  # with backtracking, this would not end

    assert "a" * 200 in project.history._known


@pytest.mark.parametrize(
    ("points", "answered", "reopened"), [(1, 0, False), (1, 9, False), (2, 1, False), (2, 9, True)]
)
def test_files_that_are_no_longer_ignored_are_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: int, answered: int, reopened: bool
) -> None:
    """Also with another scanner: the process, its replacement, or that of a later run."""
    monkeypatch.setattr(scan_process, "LARGE", 0)
    remaining = iter(range(answered))

    def ask(request: Any) -> Any:
        if next(remaining, None) is None:
            raise ScannerLost("killed")
        return ask_process(request)

    project = ProjectFixture(tmp_path)
    project.ask_scanner = ask
    project.open()
    (project.root / ".gitignore").write_text("data/\n*.bin\n")
    (project.root / "data").mkdir()
    (project.root / "data" / "precious").write_text("mine")
    (project.root / "a.bin").write_text("mine, too")
    for number in range(points):
        project.point(f"p{number}")
    before = tree_of(project.root)
    if reopened:
        project.history.close()
        project.open()
    (project.root / ".gitignore").write_text("other\n")
    (project.root / "new").write_text("made by the agent")
    project.history.capture("command")
    project.rewind("p0")

    assert tree_of(project.root) == before


def test_an_ignore_file_that_becomes_a_folder_no_longer_applies(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / ".gitignore").write_text("*.bin\n")
    (project.root / "a.bin").write_text("mine")
    project.point("p")
    (project.root / ".gitignore").unlink()
    (project.root / ".gitignore").mkdir()
    changes = project.history.capture("command")

    assert [change.path for change in changes] == [".gitignore"]
    assert "a.bin" in project.history._known


def test_files_that_become_ignored_keep_their_history(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "a.txt").write_text("one")
    project.point("p")
    before = tree_of(project.root)
    (project.root / "a.txt").write_text("two")
    project.history.capture("command")
    (project.root / ".gitignore").write_text("*.txt\n")
    project.history.capture("command")
    project.rewind("p")

    assert tree_of(project.root) == before
    assert (project.root / "a.txt").read_text() == "one"


def test_inner_ignore_files_apply_below_them(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / "x").mkdir()
    (project.root / ".gitignore").write_text("*.o\n")
    (project.root / "x" / ".gitignore").write_text("!kept.o\nlocal\n")
    for name in ("a.o", "local", "x/kept.o", "x/a.o", "x/local"):
        (project.root / name).write_text("1")
    project.point("p")
    known_paths = {path for path in project.history._known if not path.endswith("ignore")}

    assert known_paths == {"local", "x", "x/kept.o"}
