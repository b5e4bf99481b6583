from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pi.base.processes import run
from pi.batteries.status_engine.sources import (
    GitTimeout,
    ask_counts,
    is_safe_repository,
    read_branch,
)
from pi.coding.files.local import LocalFiles
from pi.extension import ExecResult, PiError
from tests.batteries.status_engine.git.repository import QUIET, git, make_repository
from tests.files import old_git


class Git:
    """Runs git in a folder, as ``pi.exec`` would, for as long as it takes."""

    def __init__(self, folder: Path, program: str = "git") -> None:
        self.folder = folder
        self.program = program

    async def __call__(
        self, argv: Sequence[str], *, env: Mapping[str, str], timeout: float
    ) -> ExecResult:
        ended = await run(
            [self.program, *argv[1:]],
            cwd=self.folder,
            env={**QUIET, **env},
            timeout=60,
            max_output=10_000,
        )
        return ExecResult(stdout=ended.output.decode(), stderr="", code=ended.exit_code)


async def test_lines_are_counted_since_the_last_commit(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    counts = [await ask_counts(Git(repository))]
    (repository / "poem").write_text("one\n2\nthree\nfour\n")
    counts.append(await ask_counts(Git(repository)))
    git(repository, "add", ".")
    counts.append(await ask_counts(Git(repository)))
    (repository / "poem").write_text("")
    counts.append(await ask_counts(Git(repository)))

    assert counts == [(0, 0), (2, 1), (2, 1), (0, 3)]


async def test_no_lines_are_counted_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init")

    assert await ask_counts(Git(tmp_path)) is None


async def test_git_returns_the_branch_or_nothing_for_a_detached_head(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, "topic")
    branches = [await read_branch(Git(repository))]
    git(repository, "checkout", "--detach")
    branches.append(await read_branch(Git(repository)))

    assert branches == ["topic", ""]


async def test_without_git_no_counts_and_no_branch_are_returned() -> None:
    async def missing(argv: Sequence[str], *, env: Mapping[str, str], timeout: float) -> ExecResult:
        raise PiError("there is no such program")

    assert (await ask_counts(missing), await read_branch(missing)) == (None, "")


async def test_a_slow_git_command_raises_a_timeout() -> None:
    async def slow(argv: Sequence[str], *, env: Mapping[str, str], timeout: float) -> ExecResult:
        return ExecResult(stdout="", stderr="", code=None, killed=True)

    with pytest.raises(GitTimeout):
        await ask_counts(slow)


HOSTILE = """
[core]
    fsmonitor = touch FSMONITOR
    pager = touch PAGER
    hooksPath = hooks
[diff]
    external = touch EXTERNAL
[diff "evil"]
    command = touch COMMAND
    textconv = touch TEXTCONV
"""


async def test_programs_named_by_the_git_configuration_are_not_run(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    (repository / ".gitattributes").write_text("* diff=evil\n")
    (repository / "hooks").mkdir()
    hook = repository / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch HOOK\n")
    hook.chmod(0o755)
    with (repository / ".git" / "config").open("a") as config:
        config.write(HOSTILE)
    (repository / "poem").write_text("changed\n")

    counts = await ask_counts(Git(repository))

    assert counts == (1, 3)
    assert [path.name for path in repository.iterdir() if path.name.isupper()] == []


@pytest.mark.parametrize(
    "text",
    [
        '[filter "evil"]\n    clean = touch CLEAN\n',
        '[FILTER "evil"]\n    process = touch CLEAN\n',
        "[include]\n    path = elsewhere\n",
        '[includeIf "gitdir:/"]\n    path = elsewhere\n',
        "[extensions]\n    worktreeConfig = true\n",
    ],
)
async def test_a_repository_with_filters_or_includes_is_not_safe(tmp_path: Path, text: str) -> None:
    repository = make_repository(tmp_path / "repository")
    git(repository, "worktree", "add", "-b", "side", str(tmp_path / "tree"))
    files = LocalFiles(lambda: tmp_path, home=str(tmp_path))
    folders = (repository / ".git", repository / ".git" / "worktrees" / "tree")

    before = [await is_safe_repository(files, folder) for folder in folders]
    with (repository / ".git" / "config").open("a") as config:
        config.write(text)
    after = [await is_safe_repository(files, folder) for folder in folders]

    assert (before, after) == ([True, True], [False, False])


async def test_a_repository_with_an_unreadable_configuration_is_not_safe(tmp_path: Path) -> None:
    config = make_repository(tmp_path) / ".git" / "config"
    files = LocalFiles(lambda: tmp_path, home=str(tmp_path))
    results = []

    config.write_text("# " + "x" * 100_000)
    results.append(await is_safe_repository(files, config.parent))
    config.unlink()
    results.append(await is_safe_repository(files, config.parent))

    assert results == [False, False]


async def test_a_bare_repository_inside_a_repository_is_not_used(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path)
    trap = repository / "trap"
    git(repository, "init", "--bare", str(trap))
    with (trap / "config").open("a") as config:
        config.write("[core]\n    worktree = .\n    bare = false\n")

    assert await read_branch(Git(trap)) == ""


async def test_git_2_30_is_supported(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project", "topic")
    (repository / "poem").write_text("one\n2\nthree\nfour\n")
    own = Git(repository, program=str(old_git(tmp_path / "git")))

    assert (await read_branch(own), await ask_counts(own)) == ("topic", (2, 1))
