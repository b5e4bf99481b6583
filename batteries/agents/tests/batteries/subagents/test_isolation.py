"""Isolated agents: their changes are merged, or kept where the result says."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, calls, says
from pi.batteries.subagents.isolation import FOLDER
from tests.base.processes.children import needs_posix_shell
from tests.batteries.subagents.agent_session import Script, agent_session, results, text
from tests.sampling import sampled

pytestmark = needs_posix_shell
IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false"]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, check=True, text=True
    )
    return done.stdout


def make_repository(tmp_path: Path, lines: int = 60, *, folder: Path | None = None) -> Path:
    """The project of the session as a repository; a hook and signing would fail."""
    folder = folder or tmp_path / "home/project"
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "list").write_text("".join(f"line {n}\n" for n in range(lines)))
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "first")
    hook = folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git(folder, "config", "commit.gpgSign", "true")
    git(folder, "config", "gpg.program", "/nonexistent")
    return folder


def branches(folder: Path) -> list[str]:
    return git(folder, "branch", "--list", "pi/*", "--format=%(refname:short)").split()


def is_tidy(tmp_path: Path, folder: Path) -> bool:
    """Whether no working copy, worktree or lock is left."""
    copies = tmp_path / "home/.pi/agent" / FOLDER
    left = [*copies.glob("*")] if copies.exists() else []
    worktrees = git(folder, "worktree", "list", "--porcelain").count("worktree ")
    locks = [*(folder / ".git").glob("*.lock")]
    return not left and worktrees == 1 and not locks


def edits(line: int, to: str) -> Reply:
    """Changes one line with the tool of pi, in the folder of the agent."""
    return calls("edit", path="list", edits=[{"oldText": f"line {line}\n", "newText": f"{to}\n"}])


def isolated(**tasks: str) -> Reply:
    return calls(
        "task", tasks=[{"task": text, "name": n, "isolated": True} for n, text in tasks.items()]
    )


async def test_the_changes_of_an_isolated_agent_are_merged(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "mine").write_text("uncommitted\n")
    script = Script(
        main=[isolated(a="change it")],
        a=[
            edits(5, "five"),
            calls("bash", command="cat mine; pwd; echo new > added; git add -A; git commit -qnm x"),
            calls("yield", data="done"),
        ],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        seen: list[str] = []
        agents.tree.on_change(lambda: seen.append((folder / "list").read_text()[:300]))
        await hosted.session.prompt("go")

        assert "Its changes were merged into your files: added, list." in text(results(hosted)[0])
        assert "five\n" in (folder / "list").read_text()
        assert (folder / "added").read_text() == "new\n"
        assert "uncommitted" in str(script.requests["a"][2].messages[-1])
        assert str(folder) + "\\n" not in str(script.requests["a"][2].messages[-1])
        assert branches(folder) == []
        assert is_tidy(tmp_path, folder)
        assert git(folder, "log", "--oneline").count("\n") == 1


@pytest.mark.behaviour("worktree-survives-failed-merge")
async def test_a_merge_conflict_keeps_the_branch_and_reports_its_name(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    script = Script(
        main=[isolated(a="x", b="y")],
        a=[edits(5, "five of a"), calls("yield", data="a")],
        b=[edits(5, "five of b"), calls("yield", data="b")],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        [branch] = branches(folder)
        output = text(results(hosted)[0])
        loser = next(node for node in agents.tree.all() if node.branch)

        assert "Merge conflict: The changes do not fit the files as they are now" in output
        assert f"They are on the branch {branch}." in output
        assert f"five of {loser.id}" in git(folder, "show", f"{branch}:list")
        assert "five of" in (folder / "list").read_text()
        assert f"five of {loser.id}" not in (folder / "list").read_text()
        assert "By the agent task" in git(folder, "log", "-1", "--format=%B", branch)
        assert is_tidy(tmp_path, folder)


@pytest.mark.parametrize("end", sampled(["failed", "cancelled", "unmerged"], keep=1))
async def test_unmerged_changes_are_kept_on_a_branch(tmp_path: Path, end: str) -> None:
    folder = make_repository(tmp_path)
    ends: dict[str, Any] = {
        "failed": calls("yield", error="no"),
        "cancelled": calls("bash", command="sleep 600"),
        "unmerged": calls("yield", data="ok"),
    }
    script = Script(main=[isolated(a="x")], a=[edits(5, "five"), ends[end]])
    task = {"isolation": {"apply": end != "unmerged"}}
    async with agent_session(tmp_path, script, task=task) as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        if end == "cancelled":
            changed = asyncio.Event()
            agents.tree.on_change(changed.set)
            while not any(node.activity.startswith("bash") for node in agents.tree.all()):
                changed.clear()
                await changed.wait()
            await agents.work.cancel(agents.tree.active())
        await run
        [branch] = branches(folder)

        assert f"They are on the branch {branch}." in text(results(hosted)[0])
        assert "five\n" in git(folder, "show", f"{branch}:list")
        assert "five\n" not in (folder / "list").read_text()
        assert is_tidy(tmp_path, folder)


@pytest.mark.parametrize("clean", sampled([True, False], keep=1))
async def test_changes_can_be_merged_as_commits(tmp_path: Path, clean: bool) -> None:
    folder = make_repository(tmp_path)
    if not clean:
        (folder / "list").write_text("changed by the user\n" + (folder / "list").read_text())
    script = Script(main=[isolated(a="Fix the list")], a=[edits(5, "five"), calls("yield", data=1)])
    task = {"isolation": {"merge": "branch"}}
    async with agent_session(tmp_path, script, task=task) as (hosted, _):
        await hosted.session.prompt("go")
        output, log = text(results(hosted)[0]), git(folder, "log", "--format=%s")

        assert ("five\n" in (folder / "list").read_text()) == clean
        assert log.splitlines() == (["Fix the list", "first"] if clean else ["first"])
        assert ("merged as a commit" in output) == clean
        assert len(branches(folder)) == (0 if clean else 1)
        assert is_tidy(tmp_path, folder)


async def test_a_folder_without_a_repository_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "home/project"
    folder.mkdir(parents=True)
    (folder / "list").write_text("line 1\nline 2\n")
    script = Script(main=[isolated(a="x")], a=[edits(1, "one"), calls("yield", data="ok")])
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")

        assert (folder / "list").read_text() == "one\nline 2\n"
        assert [*(tmp_path / "home/.pi/agent" / FOLDER).glob("*")] == []


@pytest.mark.parametrize("backend", sampled(["worktree", "copy", "overlay"], keep=2))
async def test_every_backend_merges_the_changes(tmp_path: Path, backend: str) -> None:
    folder = make_repository(tmp_path)
    script = Script(main=[isolated(a="x")], a=[edits(5, "five"), calls("yield", data="ok")])
    settings = {"isolation": {"backend": backend}}
    async with agent_session(tmp_path, script, settings=settings) as (hosted, _):
        await hosted.session.prompt("go")

        assert "Its changes were merged into your files: list." in text(results(hosted)[0])
        assert "five\n" in (folder / "list").read_text()
        assert branches(folder) == []
        assert is_tidy(tmp_path, folder)


async def test_a_working_copy_left_by_a_killed_process_is_saved_on_a_branch(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    script = Script(
        main=[isolated(a="x"), says("ok")], a=[edits(5, "five"), calls("yield", data=1)]
    )

    async def crash(*given: Any, **options: Any) -> Any:
        raise OSError("the disk is full")

    async with agent_session(tmp_path, script) as (hosted, agents):
        agents.copies._finish = crash  # type: ignore[method-assign]
        await hosted.session.prompt("go")
        output = text(results(hosted)[0])
        node = agents.tree.all()[0]

        assert f"Its work was kept in {node.path}: the disk is full" in output
        label = Path(node.path).parent / "state.json"
        ended = {**json.loads(label.read_text()), "pid": 4_194_303}
        label.write_text(json.dumps(ended))  # as if its process had ended
        closed = await agents.copies.sweep()

        assert [each.branch for each in closed] == branches(folder)
        assert "five\n" in git(folder, "show", f"{branches(folder)[0]}:list")
        assert is_tidy(tmp_path, folder)


async def test_an_untrusted_project_has_no_isolated_agents(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "AGENTS.md").write_text("Do this.\n")
    script = Script(main=[isolated(a="x")])
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")

        assert "needs a trusted project" in text(results(hosted)[0])
        assert is_tidy(tmp_path, folder)


async def test_a_working_copy_inherits_the_trust_of_its_project(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    (folder / "AGENTS.md").write_text("Speak Latin.\n")
    script = Script(main=[isolated(a="x")])
    async with agent_session(tmp_path, script, approve=True) as (hosted, _):
        await hosted.session.prompt("go")

        assert "Speak Latin." in str(script.requests["a"][0].messages[0])


def crowd(count: int, apart: int) -> tuple[Script, Callable[[int], str]]:
    """``count`` parallel agents; each changes its own line, ``apart`` lines from the next."""
    names = {f"a{n}": f"change {n}" for n in range(count)}
    steps = {
        f"a{n}": [edits(n * apart, f"changed by {n}"), calls("yield", data=n)] for n in range(count)
    }
    return Script(main=[isolated(**names)], **steps), lambda n: f"changed by {n}\n"


@pytest.mark.full
@pytest.mark.behaviour("worktree-survives-failed-merge")
@pytest.mark.parametrize(
    ("count", "apart"), sampled([(4, 8), pytest.param(20, 8, marks=pytest.mark.full),
                         (3, 1), pytest.param(20, 1, marks=pytest.mark.full)], keep=1),
)  # fmt: skip
async def test_no_changes_are_lost_when_agents_change_the_same_file(
    tmp_path: Path, count: int, apart: int
) -> None:
    folder = make_repository(tmp_path, lines=count * apart + 8)
    script, changed = crowd(count, apart)
    async with agent_session(tmp_path, script, task={"maxConcurrency": 20}) as (hosted, agents):
        await hosted.session.prompt("go")
        merged, output = (folder / "list").read_text(), text(results(hosted)[0])
        kept = {node.id: node.branch for node in agents.tree.all() if node.branch}

        for n in range(count):
            if f"a{n}" in kept:
                assert changed(n) in git(folder, "show", f"{kept[f'a{n}']}:list")
                assert kept[f"a{n}"] in output
            else:
                assert changed(n) in merged
        assert sorted(kept.values()) == sorted(branches(folder))
        if apart > 3:
            assert kept == {}
        assert is_tidy(tmp_path, folder)
        assert [node.state for node in agents.tree.all()] == ["completed"] * count
