"""The git that pi runs itself runs no program of a repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pi.base.processes.git import (
    GIT_PROGRAMS_QUERY,
    RepositoryProgram,
    git_command,
    git_programs,
    remote_programs,
)

KEYS = (
    "core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.p.process", "diff.x.textconv",
    "diff.y.command", "diff.external", "merge.x.driver", "core.pager", "core.editor",
)  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which every command that can run a program of its own does so."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/ran\n")
    program.chmod(0o755)
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    for key, value in (("user.name", "a"), ("user.email", "a@example.org")):
        subprocess.run(["git", "config", key, value], cwd=folder, check=True)
    for name in ("a.x", "b.y", "c.p"):
        (folder / name).write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "one"], cwd=folder, check=True)
    subprocess.run(["git", "branch", "other"], cwd=folder, check=True)
    (folder / ".gitattributes").write_text(
        "*.x filter=x diff=x merge=x\n*.y diff=y\n*.p filter=p\n"
    )
    for key in KEYS:
        subprocess.run(["git", "config", key, str(program)], cwd=folder, check=True)
    subprocess.run(["git", "config", "filter.x.required", "true"], cwd=folder, check=True)
    hooks = folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-checkout", "post-index-change", "post-commit", "pre-rebase"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    for name in ("a.x", "b.y", "c.p"):
        (folder / name).write_text("two\n")
        os.utime(folder / name, (1, 1))
    return folder


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


COMMANDS = [
    ["status"],
    ["diff"],
    ["diff", "--stat", "HEAD"],
    ["log", "-p", "-1"],
    ["show", "HEAD"],
    ["add", "a.x", "b.y", "c.p"],
    ["commit", "-qam", "two"],
    ["checkout", "-q", "--", "a.x", "c.p"],
    ["worktree", "add", "-q", "../tree", "other"],
    ["stash", "-q"],
    ["ls-files", "-m"],
    ["grep", "two"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_program_of_a_repository_runs(arguments: list[str], repository: Path) -> None:
    listing = run(repository, git_command(GIT_PROGRAMS_QUERY)).stdout
    done = run(repository, git_command(arguments, programs=git_programs(listing)))

    assert done.returncode == 0, done.stderr
    assert not (repository.parent / "ran").exists()


def test_plain_git_would_run_them(repository: Path) -> None:
    run(repository, ["git", "diff"])

    assert (repository.parent / "ran").exists()


def test_a_merge_without_the_driver_of_the_repository_is_one_of_git(repository: Path) -> None:
    programs = git_programs(run(repository, git_command(GIT_PROGRAMS_QUERY)).stdout)
    run(repository, git_command(["checkout", "-q", "--", "."], programs=programs))
    (repository / "a.x").write_text("one\nmain\n")
    run(repository, git_command(["commit", "-qam", "main"], programs=programs))
    run(repository, git_command(["checkout", "-q", "other"], programs=programs))
    (repository / "a.x").write_text("other\none\n")
    run(repository, git_command(["commit", "-qam", "other"], programs=programs))
    done = run(repository, git_command(["cherry-pick", "main"], programs=programs))

    assert (repository / "a.x").read_text() == "other\none\nmain\n", done.stderr
    assert not (repository.parent / "ran").exists()


def test_hooks_run_if_the_user_wants_them(repository: Path) -> None:
    programs = git_programs(run(repository, git_command(GIT_PROGRAMS_QUERY)).stdout)
    run(repository, git_command(["commit", "-qam", "two"], programs=programs, hooks=True))

    assert (repository.parent / "ran").exists()


def test_only_the_own_configuration_of_a_repository_is_switched_off() -> None:
    listing = (
        "global\0filter.lfs.clean\ngit-lfs clean -- %f\0"
        "local\0filter.x.clean\n./x\0local\0core.sshcommand\nssh -i x\0"
        "worktree\0url.a.insteadof\nb\0"
    )

    programs = git_programs(listing)

    assert programs == ("filter.x.clean", "core.sshcommand", "url.a.insteadof")
    assert remote_programs(programs) == ("core.sshcommand", "url.a.insteadof")
    assert "filter.x.clean=" in git_command(["add", "."], programs=programs)


def test_a_filter_that_cannot_be_switched_off_stops_the_command() -> None:
    with pytest.raises(RepositoryProgram, match="cannot be switched off"):
        git_command(["add", "."], programs=["filter.a=b.clean"])
