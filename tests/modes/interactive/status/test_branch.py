from __future__ import annotations

from pathlib import Path

import pytest

from pi.modes.interactive.status.branch import branch_of


async def ask_git(cwd: Path) -> str:
    return "from git"


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


async def test_outside_of_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    assert await branch_of(tmp_path, ask_git) == ""


@pytest.mark.trap(180)
async def test_a_subdirectory_has_the_branch_of_its_repository(tmp_path: Path) -> None:
    below = repository(tmp_path, "ref: refs/heads/feature/x\n") / "a" / "b"
    below.mkdir(parents=True)

    assert await branch_of(below, ask_git) == "feature/x"


@pytest.mark.trap(180)
async def test_a_worktree_has_its_own_branch(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    real = main / ".git" / "worktrees" / "other"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/other\n")
    worktree = tmp_path / "other"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {real}\n")

    assert await branch_of(worktree, ask_git) == "other"


@pytest.mark.trap(180)
async def test_where_references_are_in_a_table_git_is_asked(tmp_path: Path) -> None:
    repository(tmp_path, "ref: refs/heads/.invalid\n")

    assert await branch_of(tmp_path, ask_git) == "from git"


async def test_a_commit_is_no_branch(tmp_path: Path) -> None:
    repository(tmp_path, "0123456789abcdef\n")

    assert await branch_of(tmp_path, ask_git) == "detached"


@pytest.mark.trap(180)
async def test_a_head_that_is_being_replaced_is_no_trouble(tmp_path: Path) -> None:
    (repository(tmp_path) / ".git" / "HEAD").unlink()

    assert await branch_of(tmp_path, ask_git) is None
