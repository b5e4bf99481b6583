from __future__ import annotations

from pathlib import Path

import pytest

from pi.batteries.status_engine.sources import Files, Head, find_head
from pi.coding.files.local import LocalFiles
from tests.batteries.status_engine.git.repository import git, make_repository


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return LocalFiles(lambda: tmp_path, home=str(tmp_path))


def written(folder: Path, head: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


@pytest.mark.behaviour("footer-branch")
async def test_the_branch_is_read_from_the_folder_or_one_above(
    tmp_path: Path, files: Files
) -> None:
    repository = make_repository(tmp_path / "repository", "feature/x")
    below = repository / "a" / "b"
    below.mkdir(parents=True)

    heads = [await find_head(files, folder) for folder in (repository, below)]

    assert heads == [Head(git_dir=repository / ".git", branch="feature/x")] * 2


async def test_outside_of_a_repository_no_head_is_found(tmp_path: Path, files: Files) -> None:
    assert await find_head(files, tmp_path) is None


async def test_before_the_first_commit_there_is_a_branch(tmp_path: Path, files: Files) -> None:
    git(tmp_path, "init", "--initial-branch", "trunk")

    assert await find_head(files, tmp_path) == Head(git_dir=tmp_path / ".git", branch="trunk")


async def test_a_detached_head_is_shown_as_detached(tmp_path: Path, files: Files) -> None:
    repository = make_repository(tmp_path)
    git(repository, "checkout", "--detach")

    assert await find_head(files, tmp_path) == Head(git_dir=tmp_path / ".git", branch="detached")


@pytest.mark.behaviour("footer-branch")
async def test_a_worktree_has_a_head_of_its_own(tmp_path: Path, files: Files) -> None:
    repository = make_repository(tmp_path / "repository")
    git(repository, "worktree", "add", "-b", "side", str(tmp_path / "tree"))

    head = await find_head(files, tmp_path / "tree")

    assert head == Head(git_dir=repository / ".git" / "worktrees" / "tree", branch="side")


async def test_a_relative_gitdir_is_resolved(tmp_path: Path, files: Files) -> None:
    written(tmp_path / "real", "ref: refs/heads/sub\n")
    module = tmp_path / "module"
    module.mkdir()
    (module / ".git").write_text("gitdir: ../real/.git\n")

    head = await find_head(files, module)

    assert head is not None and head.branch == "sub"


@pytest.mark.behaviour("footer-branch")
async def test_the_branch_of_a_reftable_repository_is_left_empty(
    tmp_path: Path, files: Files
) -> None:
    written(tmp_path, "ref: refs/heads/.invalid\n")

    assert await find_head(files, tmp_path) == Head(git_dir=tmp_path / ".git", branch="")


async def test_a_gitdir_that_does_not_exist_is_not_a_repository(
    tmp_path: Path, files: Files
) -> None:
    (tmp_path / ".git").write_text("gitdir: /no/such/folder\n")

    assert await find_head(files, tmp_path) is None
