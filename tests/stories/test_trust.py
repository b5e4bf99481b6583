"""Trust before bytes: a hostile project is opened in every mode, and everything is written down."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.terminal import terminal
from pi.ai.errors import ProviderError
from pi.ai.local.download import run_pip
from pi.ai.local.server import LocalServer
from tests.files import stand_in
from tests.stories.desk import AUDITED, Desk
from tests.stories.hostile import INJECTION, HostileProject, is_below
from tests.stories.loopback_model import loopback_model

MODES = ("print", "json", "rpc", "sdk")
DOWN = b"\x1b[B"
TIMEOUT_SECONDS = 60.0
ALLOWED = {".git/HEAD", ".git/reftable/tables.list"}
"""May be read before trust: the footer shows the branch."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with loopback_model() as model:
        yield Desk(tmp_path, model)


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.parametrize("mode", MODES)
def test_nothing_of_an_untrusted_project_is_read_or_run(desk: Desk, mode: str) -> None:
    outcome = desk.open(mode)

    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, desk.loot) == ([], [], [])
    assert len(desk.model.requests) == 1
    assert INJECTION not in desk.model.requests[0]
    assert "/evil" in desk.model.requests[0]
    assert list(desk.agent_dir.rglob("*.jsonl"))
    assert list(desk.project.root.rglob("*.jsonl")) == []


@pytest.mark.skipif(os.name != "posix", reason="needs programs that are scripts")
def test_programs_of_the_project_do_not_run_through_a_relative_path(
    desk: Desk, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    for name in ("rg", "fd", "fdfind", "git", "vault"):
        for folder in ("", "node_modules/.bin"):
            stand_in(desk.project.cwd / folder / name, f"echo {name} >> '{ran}'")
    settings = json.loads((desk.agent_dir / "models.json").read_text())
    settings["providers"]["mine"]["apiKey"] = "!vault read key || echo k"
    (desk.agent_dir / "models.json").write_text(json.dumps(settings))
    desk.model.tools = [("grep", {"pattern": "zz"}), ("find", {"pattern": "*.zz"})]
    desk.model.calls = [{"command": "fd"}]
    path = f".:node_modules/.bin::{desk.environ['PATH']}"

    done = subprocess.run(
        [sys.executable, "-m", "pi", "-p", "--model", "mine/m", "--tools", "bash,grep,find", "hi"],
        cwd=desk.project.cwd,
        env={**desk.environ, "PATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    assert done.stdout == "All is well.\n", done.stderr
    assert len(desk.model.requests) == 4
    assert ran.read_text() == "fd\n", "only the command of the model finds programs there"


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_on_a_screen_nothing_is_read_or_run_before_the_answer_and_after_a_no(desk: Desk) -> None:
    audited = [sys.executable, str(AUDITED), str(desk.log), "cli", "--model", "mine/m"]
    environ = {**desk.environ, "TERM": "xterm-256color"}
    with terminal(audited, cwd=desk.project.cwd, env=environ) as screen:
        screen.wait_for(rb"Do not trust \(this session only\)", within=TIMEOUT_SECONDS)
        screen.send(DOWN * 4 + b"\r")
        screen.wait_for(rb"Not trusted, so not read", within=TIMEOUT_SECONDS)
        screen.send(b"hello\r")
        screen.wait_for(rb"All is well\.", within=TIMEOUT_SECONDS)
        screen.send(b"/quit\r")
        ended = screen.finish(within=TIMEOUT_SECONDS)
    outcome = desk.audited()

    assert ended.exit_code == 0
    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, desk.loot) == ([], [], [])
    assert [INJECTION in request for request in desk.model.requests] == [False]


@pytest.mark.parametrize("mode", MODES)
def test_what_was_skipped_is_named_once_with_the_way_to_allow_it(desk: Desk, mode: str) -> None:
    lines = [line for line in desk.open(mode).stderr.splitlines() if "Not trusted" in line]

    assert len(lines) == 1
    assert "--approve" in lines[0]
    for name in ("CLAUDE.md", "sub/AGENTS.md", "sub/.env", "sub/.pi/settings.json"):
        assert str(desk.project.root / name) in lines[0]
    assert "Not trusted" not in desk.open(mode, approve=True).stderr


@pytest.mark.parametrize("mode", MODES)
def test_with_approval_all_of_it_is_used(desk: Desk, mode: str) -> None:
    desk.model.command = "true"
    outcome = desk.open(mode, approve=True)

    assert desk.project.readable <= outcome.opened
    assert desk.model.requests[0].count(INJECTION) >= 7
    assert [name.partition("_evil_")[0] for name in desk.loot] == ["bash", "pi_extension", "prefix"]
    assert list((desk.project.cwd / "stolen-sessions").rglob("*.jsonl"))


def test_commands_in_an_untrusted_project_are_run_as_if_it_said_nothing(desk: Desk) -> None:
    desk.model.command = "true"
    outcome = desk.open("print")

    supervisor, command = sorted(outcome.started, key=lambda each: "'-c', 'true'" in each)
    assert ("supervisor" in supervisor, "'-c', 'true'" in command) == (True, True)
    assert desk.loot == []
    assert outcome.opened <= ALLOWED


@pytest.mark.parametrize("words", ["--version", "--help", "--list-models", "doctor", "sessions"])
def test_whatever_else_pi_does_in_such_a_place_is_harmless(desk: Desk, words: str) -> None:
    desk.run([sys.executable, str(AUDITED), str(desk.log), "cli", *words.split()])
    outcome = desk.audited()

    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, desk.loot) == ([], [], [])


@pytest.mark.behaviour("trust-uses-canonical-paths")
def test_the_home_folder_is_no_project(desk: Desk) -> None:
    (desk.home / ".env").write_text("COLOUR=green")
    skill = desk.home / ".agents/skills/mine/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: MINE\n---\nText.")
    (desk.home / "link").symlink_to(desk.home)
    desk.project = HostileProject(root=desk.home, cwd=desk.home / "link", loot=desk.project.loot)
    outcome = desk.open("print")

    assert outcome.stderr == ""
    assert ".env" in outcome.opened
    assert "MINE" in desk.model.requests[0]


@pytest.mark.behaviour("child-environment-is-clean")
def test_commands_see_neither_what_only_a_dotenv_file_says_nor_our_git(desk: Desk) -> None:
    desk.model.command = 'echo "evil=[$EVIL$BASH_ENV] git=[$GIT_DIR$GIT_WORK_TREE] path=[$PATH]"'
    (desk.project.cwd / ".pi/settings.json").write_text("{}")
    outcome = desk.open("json", approve=True)

    assert "sub/.env" in outcome.opened
    assert f"evil=[] git=[] path=[{os.environ['PATH']}]" in outcome.stdout
    assert "bash" not in desk.loot


def test_a_decision_that_was_stored_counts_for_what_lies_below(desk: Desk) -> None:
    trust = desk.agent_dir / "trust.json"
    trust.write_text(json.dumps({str(desk.project.cwd): True, str(desk.project.root): False}))
    outcome = desk.open("print")

    assert "sub/AGENTS.md" in outcome.opened
    assert "CLAUDE.md" not in outcome.opened
    assert str(desk.project.root / "CLAUDE.md") in outcome.stderr


def test_a_link_does_not_lead_around_the_decision(desk: Desk) -> None:
    real = desk.project.root
    link = real.parent / "looks-mine"
    link.symlink_to(real)
    desk.project = HostileProject(root=real, cwd=link / "sub", loot=desk.project.loot)
    trust = desk.agent_dir / "trust.json"
    trust.write_text(json.dumps({str(link): True, str(real): False}))

    assert desk.open("print").opened <= ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_the_kernel_saw_nothing_else(
    desk: Desk, mode: str, program: Callable[[str, str], str], tmp_path: Path
) -> None:
    strace = program("strace", "what the kernel saw of an untrusted project")
    trace = tmp_path / "trace"
    kinds = "trace=open,openat,openat2,execve,execveat"
    traced = [strace, "-f", "-qq", "-y", "-s", "4096", "-e", kinds, "-o", str(trace)]
    if subprocess.run([*traced, "true"], capture_output=True).returncode != 0:
        pytest.skip("strace may not trace here; not tested: what the kernel saw")
    prompt = "/evil" if mode == "rpc" else None

    def opened(*, approve: bool) -> tuple[set[str], list[str]]:
        desk.run([*traced, *desk.command(mode, "/evil", approve=approve)], rpc_prompt=prompt)
        return _files_of(trace, desk.project)

    files, programs = opened(approve=False)
    assert (files - ALLOWED, len(programs)) == (set(), 1)
    assert desk.loot == []
    files, _ = opened(approve=True)
    assert desk.project.readable <= files


def _files_of(trace: Path, project: HostileProject) -> tuple[set[str], list[str]]:
    """Files of the project that were opened, and every program that was started."""
    files, programs = set(), []
    call = re.compile(r'(?P<name>\w+)\((?:AT_FDCWD(?:<[^>]*>)?, )?"(?P<path>[^"]*)"(?P<rest>.*)')
    for line in trace.read_text(errors="replace").splitlines():
        if (found := call.search(line)) is None:
            continue
        path = str(project.cwd / found["path"])
        if found["name"].startswith("execve"):
            programs.append(path)
        elif is_below(path, project.root) and "O_DIRECTORY" not in found["rest"]:
            files.add(str(Path(path).resolve().relative_to(project.root.resolve())))
    return files, programs


async def test_programs_of_our_own_import_nothing_from_where_they_are_started(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.project.cwd)
    server = LocalServer(desk.home / "none.gguf", context=512, environ=desk.environ)
    with pytest.raises(ProviderError):
        await server.address()
    await server.close()
    await run_pip(["download", "--help"], desk.environ, progress=lambda done, total: None)

    assert desk.loot == []
