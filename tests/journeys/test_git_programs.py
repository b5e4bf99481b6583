"""The git that pi itself runs starts no program that the configuration of a repository names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.journeys.program import Journey

HOOKS = ("pre-commit", "commit-msg", "post-checkout", "post-index-change", "reference-transaction")
NAMED = (
    *("core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.d.command"),
    *("diff.d.textconv", "filter.f.clean", "filter.f.smudge", "filter.g.process"),
    *("merge.m.driver", "gpg.program", "core.sshCommand", "core.alternateRefsCommand"),
    *("trailer.x.cmd", "pager.status", "alias.status", "interactive.diffFilter"),
)
OTHERS = {
    "user.name": "a",
    "user.email": "a@example.com",
    "filter.f.required": "true",
    "trailer.x.key": "X",
    "core.hooksPath": "hooks",
}


@pytest.fixture
def programs(journey: Journey) -> Path:
    """A repository whose configuration names programs; each leaves a file in this folder."""
    cwd, marks = journey.home.cwd, journey.folder / "marks"
    marks.mkdir()
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=cwd, env=environ, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("a.py", "b.py"):
        (cwd / name).write_text("x = 1\n")
    identity = [word for name in ("name", "email") for word in ("-c", f"user.{name}=a")]
    git("add", "-A")
    git(*identity, "commit", "-qm", "first")
    (cwd / "a.py").write_text("x = 2\n")
    git("add", "a.py")
    (cwd / "b.py").write_text("x = 2\n")
    (cwd / ".gitattributes").write_text("*.py filter=f diff=d merge=m\n*.c filter=g\n")
    (cwd / "c.c").write_text("c\n")
    program = journey.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {marks}/$1\ncat 2> /dev/null\n")
    program.chmod(0o755)
    for hook in HOOKS:
        for folder in ("hooks", ".git/hooks"):
            path = journey.home.write_work(f"{folder}/{hook}", f"#!/bin/sh\ntouch {marks}/{hook}\n")
            path.chmod(0o755)
    for key, value in OTHERS.items():
        git("config", key, value)
    for key in NAMED:
        git("config", key, f"sh -c '{program} {key}' --")
    for mark in marks.iterdir():
        mark.unlink()
    return marks


def test_work_in_a_copy_and_its_merge_run_none_of_them(journey: Journey, programs: Path) -> None:
    journey.home.use_settings(
        permissions={"mode": "auto-edit", "allow": ["task"]}, task={"enabled": True}
    )
    journey.model.calls("task", task="Do it.", name="n", isolated=True)
    journey.model.calls("write", path="a.py", content="x = 3\n")
    journey.model.calls("write", path="new.py", content="x = 3\n")

    journey.pi("-p", "--approve", "go")

    assert (journey.home.cwd / "new.py").exists()
    assert list(programs.iterdir()) == []


def test_a_commit_and_the_status_lines_run_none_of_them(journey: Journey, programs: Path) -> None:
    journey.home.use_settings(tui={"statusEngine": True}, commit={"enabled": True})
    with journey.terminal("--approve") as user:
        user.sees("main")
        journey.model.says("fix: change x")
        user.submits("/commit")
        user.sees("fix: change x")

    assert list(programs.iterdir()) == []
