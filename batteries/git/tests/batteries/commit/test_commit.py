"""``pi commit`` in real repositories, with a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Reply, Step, says
from pi.base.records import replace
from pi.batteries.commit.adapter import (
    MAX_DIFF,
    MAX_SUBJECT,
    StagedChanges,
    extension,
    fallback,
    groups_of,
    message_of,
)
from pi.coding.port.ui import ExtensionUI
from pi.extension import ExtensionAPI
from pi.testing import ScriptedProvider
from tests.cli.program import Program
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.files import put

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@example.org")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "start: first file")
    return folder


class Screen(ExtensionUI):
    """Records what is written."""

    has_ui = True

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def notify(self, message: str, kind: Any = None) -> None:
        self.text += f"{message}\n"


def model(id: str) -> Model:
    return replace(FAUX_MODEL, id=id, reasoning=True)


@asynccontextmanager
async def committing(
    tmp_path: Path, *steps: Step, environ: dict[str, str] | None = None, **roles: str
) -> AsyncIterator[tuple[ExtensionFixture, ScriptedProvider, Screen]]:
    provider = ScriptedProvider(*steps, models=(model("faux"), model("small")))

    def offer(pi: ExtensionAPI) -> None:
        pi.register_provider(provider)

    async with extension_session(
        tmp_path,
        offer,
        extension,
        settings={"modelRoles": {"commit": "faux/small", **roles}},
        environ=environ or {},
    ) as hosted:
        screen = Screen()
        hosted.session.extensions.attach(screen, "tui")
        yield hosted, provider, screen


async def test_the_message_comes_from_the_staged_changes(tmp_path: Path, project: Path) -> None:
    (project / "a.txt").write_text("two\n")
    git(project, "add", ".")
    (project / "a.txt").write_text("unstaged\n")
    async with committing(tmp_path, says("```\na: count further.\n\nBecause.\n```")) as (
        hosted,
        provider,
        screen,
    ):
        await hosted.session.prompt("/commit for the demo")

    assert git(project, "log", "-1", "--format=%B") == "a: count further\n\nBecause."
    assert git(project, "show", "HEAD:a.txt") == "two"
    assert (project / "a.txt").read_text() == "unstaged\n"
    sent = str(provider.requests[0].messages)
    assert "+two" in sent and "unstaged" not in sent
    assert "start: first file" in sent and "for the demo" in sent
    assert provider.requests[0].model.id == "small"
    assert "a: count further" in screen.text


async def test_several_topics_become_several_commits(tmp_path: Path, project: Path) -> None:
    (project / "a.txt").unlink()
    (project / "sub").mkdir()
    (project / "sub/b c.txt").write_text("b\n")
    (project / "d.txt").write_text("d\n")
    git(project, "add", "-A")
    (project / "d.txt").write_text("d, not staged\n")
    groups = [
        {"files": ["d.txt"], "message": "add d"},
        {"files": ["a.txt", "sub/b c.txt"], "message": "move a"},
    ]
    async with committing(tmp_path, says(json.dumps(groups))) as (hosted, _, screen):
        await hosted.session.prompt("/commit --split")

    assert git(project, "log", "--format=%s").splitlines()[:2] == ["move a", "add d"]
    assert git(project, "show", "--name-only", "--format=", "HEAD~1") == "d.txt"
    assert git(project, "show", "HEAD:d.txt") == "d"
    assert git(project, "status", "--porcelain") == "M d.txt"
    assert "add d\n  d.txt" in screen.text


async def test_an_incomplete_split_falls_back_to_one_commit(tmp_path: Path, project: Path) -> None:
    for name in ("b.txt", "c.txt"):
        (project / name).write_text(name)
    git(project, "add", "-A")
    partial = says('[{"files": ["b.txt"], "message": "add b"}]')
    async with committing(tmp_path, partial, says("add b and c")) as (hosted, _, _screen):
        await hosted.session.prompt("/commit --split")

    assert git(project, "log", "-1", "--format=%s") == "add b and c"
    assert git(project, "status", "--porcelain") == ""


async def test_a_failing_pre_commit_hook_leaves_the_index_unchanged(
    tmp_path: Path, project: Path
) -> None:
    hook = project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no commits today >&2\nexit 1\n")
    hook.chmod(0o755)
    for name in ("b.txt", "c.txt"):
        (project / name).write_text(name)
    git(project, "add", "-A")
    staged = git(project, "write-tree")
    groups = [{"files": [name], "message": f"add {name}"} for name in ("b.txt", "c.txt")]
    put(tmp_path / "home/.pi/agent/settings.json", json.dumps({"commit": {"hooks": True}}))
    async with committing(tmp_path, says(json.dumps(groups))) as (hosted, _, screen):
        await hosted.session.prompt("/commit --split")
        assert "no commits today" in f"{screen.text} {hosted.failures}"

    assert git(project, "log", "--format=%s") == "start: first file"
    assert git(project, "write-tree") == staged


async def test_a_commit_runs_no_program_that_the_repository_names(
    tmp_path: Path, project: Path
) -> None:
    program = put(tmp_path / "program", f"#!/bin/sh\necho $0 >> {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    for hook in ("pre-commit", "commit-msg", "post-commit", "post-index-change", "pre-push"):
        put(project / ".git/hooks" / hook, program.read_text()).chmod(0o755)
    (project / "a.txt").write_text("two\n")
    git(project, "-c", "core.hooksPath=/dev/null", "add", ".")
    put(project / ".gitattributes", "*.txt filter=x diff=x merge=x\n")
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.a b.c.process",
                "diff.x.textconv", "diff.x.command", "diff.external", "core.pager",
                "core.editor", "gpg.program"):  # fmt: skip
        git(project, "config", key, str(program))
    git(project, "config", "filter.x.required", "true")
    os.utime(project / "a.txt", (1, 1))  # git compares the content, through the filter

    async with committing(tmp_path, says("count further")) as (hosted, _, screen):
        await hosted.session.prompt("/commit")

        assert "The hooks of the repository were not run; see commit.hooks." in screen.text
    assert not (tmp_path / "ran").exists()
    assert "count further" in (project / ".git/logs/HEAD").read_text()


async def test_a_push_is_refused_where_the_repository_chooses_its_programs(
    tmp_path: Path, project: Path
) -> None:
    (project / "a.txt").write_text("two\n")
    git(project, "add", ".")
    git(project, "config", "core.sshCommand", "touch /nonexistent")
    async with committing(tmp_path, says("count further")) as (hosted, _, screen):
        await hosted.session.prompt("/commit --push")
        text = f"{screen.text} {hosted.failures}"

    assert "decides how it is pushed (core.sshcommand)" in text
    assert git(project, "log", "--format=%s") == "start: first file"


async def test_the_commit_is_pushed_on_request(tmp_path: Path, project: Path) -> None:
    remote = tmp_path / "remote.git"
    git(project, "init", "-q", "--bare", str(remote))
    git(project, "remote", "add", "origin", str(remote))
    git(project, "push", "-qu", "origin", "main")
    (project / "a.txt").write_text("two\n")
    git(project, "add", ".")
    async with committing(tmp_path, says("count further")) as (hosted, _, _screen):
        await hosted.session.prompt("/commit --push")

    assert git(remote, "log", "-1", "--format=%s", "main") == "count further"


async def test_large_changes_are_summarised_file_by_file(tmp_path: Path, project: Path) -> None:
    for name in ("b.txt", "c.txt"):
        (project / name).write_text("word\n" * (MAX_DIFF // 8))
    git(project, "add", "-A")

    def answer(call: Any) -> Reply:
        return says("adds words" if "<files>" not in str(call.messages) else "add words")

    async with committing(tmp_path, answer) as (hosted, provider, _):
        await hosted.session.prompt("/commit --dry-run")
        assert len(provider.requests) == 3
        assert "adds words" in str(provider.requests[-1].messages)
    async with committing(tmp_path, answer, environ={"PI_COMMIT_MAP_REDUCE": "false"}) as (
        hosted,
        provider,
        _,
    ):
        await hosted.session.prompt("/commit --dry-run")
        assert len(provider.requests) == 1
    assert git(project, "log", "--format=%s") == "start: first file"


async def test_without_an_answer_the_message_is_plain_unless_forbidden(
    tmp_path: Path, project: Path
) -> None:
    (project / "b.txt").write_text("b\n")
    git(project, "add", "-A")
    failing = Reply(blocks=(), error="overloaded")
    async with committing(tmp_path, failing, failing) as (hosted, provider, screen):
        await hosted.session.prompt("/commit --dry-run")
        assert [call.model.id for call in provider.requests] == ["small", "faux"]
        assert "Add b.txt" in screen.text and "overloaded" in screen.text
    async with committing(tmp_path, environ={"PI_COMMIT_TEST_FALLBACK": "True"}) as (
        hosted,
        provider,
        screen,
    ):
        await hosted.session.prompt("/commit --dry-run")
        assert provider.requests == [] and "Add b.txt" in screen.text
    async with committing(
        tmp_path, failing, failing, environ={"PI_COMMIT_NO_FALLBACK": "true"}
    ) as (hosted, _, screen):
        await hosted.session.prompt("/commit")
        assert "PI_COMMIT_NO_FALLBACK" in f"{screen.text} {hosted.failures}"
    assert git(project, "log", "--format=%s") == "start: first file"


def test_without_staged_changes_the_program_fails_with_a_hint(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    git(cli.cwd, "init", "-q")

    ended = cli.run("commit")

    assert ended.code == 1
    assert "Nothing is staged." in ended.err and "git add" in ended.err
    assert "Traceback" not in ended.err


def test_messages_are_cleaned() -> None:
    assert message_of('"Fix the **bug**."') == "Fix the **bug**"
    assert message_of("```text\nFix it\n```") == "Fix it"
    assert len(message_of("word " * 40)) <= MAX_SUBJECT
    assert message_of("  \n") == ""


def test_a_split_must_cover_each_file_once() -> None:
    changes = StagedChanges(files=(("a", "M"), ("b", "A")), diffs={})
    good = '[{"files": ["a"], "message": "x"}, {"files": ["b"], "message": "y"}]'
    assert [group.files for group in groups_of(good, changes)] == [("a",), ("b",)]
    for bad in ("no", "[]", "[1]", '[{"files": ["a", "a", "b"], "message": "x"}]'):
        assert groups_of(bad, changes) == ()
    assert fallback(changes) == "Change a, b"
