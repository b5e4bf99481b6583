"""Credentials that are only in the history of a repository, and in the folder of a kept shell."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls
from pi.batteries.permissions.adapter import extension
from pi.batteries.permissions.questions import DENY, SESSION
from pi.batteries.shell_session.adapter import extension as shell_session
from pi.coding.runtime.options import ToolFilter
from tests.batteries.permissions.test_sensitive import TOOLS
from tests.batteries.permissions.test_sessions import Asked, results
from tests.coding.extension_host.extension_session import extension_session

ASK = {"files": {"sensitive": "ask"}}


def git(project: Path, *arguments: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(
        ("git", *author, *arguments), cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose first commit has credentials, and whose second one removes them."""
    project = tmp_path / "home/project"
    (project / "src").mkdir(parents=True)
    git(project, "init", "-q")
    (project / ".env").write_text("API_KEY=s3cr3t-one\n")
    (project / "old.pem").write_text("s3cr3t-two\n")
    (project / "src/plain.txt").write_text("one\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "first")
    git(project, "tag", "OLD")
    git(project, "rm", "-q", ".env", "old.pem")
    (project / "src/plain.txt").write_text("two\n")
    git(project, "commit", "-qam", "second")
    return project


async def run(tmp_path: Path, *commands: str, ui: Any = None, **settings: Any) -> list[Any]:
    steps = (*(calls("bash", command=command) for command in commands), calls("ls"))
    async with extension_session(
        tmp_path,
        extension,
        shell_session,
        steps=steps,
        settings=ASK | settings,
        ui=ui,
        approve=True,
        tools=ToolFilter(built_ins=TOOLS),
    ) as hosted:
        await hosted.session.prompt("go")
        return results(hosted)[: len(commands)]


@pytest.mark.parametrize(
    "command",
    [
        "git show OLD:.env",
        "O=OLD; git show $O:.env",
        "git show OLD",
        "git diff OLD..HEAD",
        "git diff OLD..HEAD -- old.pem",
        "git diff OLD HEAD",
        "git log -p",
        "git log --all --patch -- .env",
        "git log -S s3cr3t -p",
        "git grep s3cr3t OLD",
        "git stash show -p",
        "git format-patch --stdout HEAD~1",
        "git archive OLD | tar -xO",
        "git cat-file -p OLD^{tree}",
        "git -c alias.s=show s OLD",
        "git --git-dir=.git show OLD",
        "git --git-dir .git log -p",
        "GIT_DIR=$PWD/.git git log -p",
        "git -C src show OLD",
        "cd src && git log -p",
        "cd .git && git show OLD",
        "cd /tmp && GIT_DIR=PROJECT/.git git log -p",
        "git difftool -y -x cat OLD HEAD",
        "cd $(echo PROJECT) && git log -p",
    ],
)
async def test_credentials_of_older_commits_are_asked_about(
    tmp_path: Path, project: Path, command: str
) -> None:
    [(is_error, text)] = await run(tmp_path, command.replace("PROJECT", str(project)))

    assert is_error
    assert "s3cr3t" not in text
    assert "looks like a file with credentials" in text


@pytest.mark.parametrize(
    "command",
    [
        "git log --oneline -5",
        "git log --stat",
        "git show --stat HEAD",
        "git status; git diff",
        "git log -p -- src",
        "git diff OLD..HEAD -- src/plain.txt",
        "git show HEAD:src/plain.txt",
        "git branch -a; git rev-parse HEAD; git ls-files",
    ],
)
async def test_commands_that_show_no_older_credentials_run(
    tmp_path: Path, project: Path, command: str
) -> None:
    [(is_error, text)] = await run(tmp_path, command)

    assert not is_error, text


async def test_a_history_without_credentials_is_not_asked_about(tmp_path: Path) -> None:
    project = tmp_path / "home/project"
    project.mkdir(parents=True)
    git(project, "init", "-q")
    (project / "a.txt").write_text("one\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")

    outcomes = await run(tmp_path, "git show HEAD", "git log -p", "git diff HEAD~0..HEAD")

    assert [is_error for is_error, _ in outcomes] == [False] * 3


async def test_a_commit_of_the_session_counts_also_when_it_was_amended_away(
    tmp_path: Path, project: Path
) -> None:
    git(project, "checkout", "-q", "--orphan", "fresh")
    git(project, "tag", "-d", "OLD")
    git(project, "commit", "-qm", "fresh")
    git(project, "branch", "-D", *git(project, "branch", "--format=%(refname:short)").split()[1:])
    git(project, "reflog", "expire", "--expire=now", "--all")
    commit = "git -c user.name=a -c user.email=a@b.c commit -q"
    outcomes = await run(
        tmp_path,
        "git log -p",
        f"echo K=s3cr3t > new.env && git add -f new.env && {commit} -m x",
        f"git rm -q --cached new.env && {commit} --amend --allow-empty -m y && rm new.env",
        "git show HEAD@{1}",
    )

    assert [is_error for is_error, _ in outcomes] == [False, False, False, True]


async def test_the_question_says_that_the_file_is_in_the_history(
    tmp_path: Path, project: Path
) -> None:
    ui = Asked(SESSION)
    outcomes = await run(tmp_path, "git show OLD", "git log -p", ui=ui)

    assert [is_error for is_error, _ in outcomes] == [False, False]
    [question] = ui.questions
    assert f"{project}/.env (in the history of git)" in question


KEPT = {"bash": {"extended": True}}


@pytest.mark.parametrize(
    "commands",
    [
        ("cd ../other", "grep -r KEY"),
        ("cd ../other", "grep -rn KEY ."),
        ("cd ../other", "rg -uu KEY"),
        ("cd ../other", "git log -p"),
        ("cd ../other; PWD=$OLDPWD", "grep -r KEY"),
    ],
)
async def test_a_search_in_a_kept_shell_is_decided_by_its_folder(
    tmp_path: Path, commands: tuple[str, ...]
) -> None:
    (tmp_path / "home/project").mkdir(parents=True)
    other = tmp_path / "home/other"
    other.mkdir()
    git(other, "init", "-q")
    (other / ".env").write_text("API_KEY=s3cr3t-one\n")
    git(other, "add", "-f", ".env")
    git(other, "commit", "-qm", "first")

    *_, (is_error, text) = await run(tmp_path, *commands, ui=Asked(DENY), **KEPT)

    assert is_error and "s3cr3t" not in text


async def test_a_search_in_a_kept_shell_without_credentials_runs(tmp_path: Path) -> None:
    (tmp_path / "home/project/src").mkdir(parents=True)
    (tmp_path / "home/project/.env").write_text("API_KEY=s3cr3t-one\n")
    (tmp_path / "home/project/src/a.txt").write_text("KEY\n")

    outcomes = await run(tmp_path, "cd src", "grep -r KEY src/ || true", **KEPT)

    assert outcomes[0][0] is False
