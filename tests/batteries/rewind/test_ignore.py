"""Ignore files, and what happens to the files that they name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pi.batteries.rewind.ignore import is_ignored, parse_ignore
from tests.batteries.rewind.project_fixture import ProjectFixture, tree_of

RULES = """\
# a comment
*.log
!keep.log
/top
build/
docs/*.txt
**/deep/x
a/**
doc?.md
[ab].c
[!z].h
\\#hash
trailing\\ 
sub/**/end
foo/
"""
PATHS = (
    *("a.log", "keep.log", "x/y.log", "top", "x/top", "build/", "x/build/", "build"),
    *("docs/a.txt", "docs/x/a.txt", "deep/x", "q/deep/x", "a/b", "a/b/c", "doc1.md", "doc12.md"),
    *("a.c", "c.c", "y.h", "z.h", "#hash", "trailing ", "sub/end", "sub/q/r/end", "foo", "foo/"),
)


def ignored(text: str, path: str) -> bool:
    """As a scan does it: folders above are asked first."""
    rules = (parse_ignore(text, ""),)
    parts = path.rstrip("/").split("/")
    return any(
        is_ignored(
            rules,
            "/".join(parts[: depth + 1]),
            parts[depth],
            is_folder=depth < len(parts) - 1 or path.endswith("/"),
        )
        for depth in range(len(parts))
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text(RULES)
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--stdin", "-z"]
    given = "\0".join(PATHS).encode()
    found = subprocess.run(command, input=given, capture_output=True, check=False).stdout
    judged = set(filter(None, found.decode().split("\0")))

    assert {path for path in PATHS if ignored(RULES, path)} == judged


@pytest.mark.parametrize("path", [".git/", "x/node_modules/", ".venv/", "a/__pycache__/"])
def test_repositories_and_dependencies_are_never_covered(path: str) -> None:
    assert ignored("", path)


def test_files_that_are_no_longer_ignored_are_not_removed(tmp_path: Path) -> None:
    project = ProjectFixture(tmp_path)
    (project.root / ".gitignore").write_text("data/\n*.bin\n")
    (project.root / "data").mkdir()
    (project.root / "data" / "precious").write_text("mine")
    (project.root / "a.bin").write_text("mine, too")
    project.point("p")
    before = tree_of(project.root)
    (project.root / ".gitignore").write_text("other\n")
    (project.root / "new").write_text("made by the agent")
    project.history.capture("command")
    project.rewind("p")

    assert tree_of(project.root) == before


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
    known = {path for path in project.history._known if not path.endswith("ignore")}

    assert known == {"local", "x", "x/kept.o"}
