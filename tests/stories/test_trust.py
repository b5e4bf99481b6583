"""A hostile project is opened in every mode under audit; nothing is read before trust."""

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
from pi.ai.local.server import LocalServer
from pi.base.processes.pip_run import run_pip
from tests.files import stand_in
from tests.sampling import sampled
from tests.stories.audit_fixture import AUDITED, AuditFixture
from tests.stories.hostile import INJECTION, HostileProject, is_below
from tests.stories.loopback_model import loopback_model

MODES = ("print", "json", "rpc", "sdk")
DOWN = b"\x1b[B"
TIMEOUT_SECONDS = 60.0
ALLOWED = {".git/HEAD", ".git/reftable/tables.list"}
"""May be read before trust: the footer shows the branch."""


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[AuditFixture]:
    with loopback_model() as model:
        yield AuditFixture(tmp_path, model)


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.parametrize("mode", sampled(MODES, keep=2))
def test_nothing_of_an_untrusted_project_is_read_or_run(kit: AuditFixture, mode: str) -> None:
    outcome = kit.open(mode)

    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, kit.loot) == ([], [], [])
    assert len(kit.model.requests) == 1
    assert INJECTION not in kit.model.requests[0]
    assert "/evil" in kit.model.requests[0]
    assert list(kit.agent_dir.rglob("*.jsonl"))
    assert list(kit.project.root.rglob("*.jsonl")) == []


@pytest.mark.skipif(os.name != "posix", reason="needs programs that are scripts")
def test_programs_of_the_project_do_not_run_through_a_relative_path(
    kit: AuditFixture, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    for name in ("rg", "fd", "fdfind", "git", "vault"):
        for folder in ("", "node_modules/.bin"):
            stand_in(kit.project.cwd / folder / name, f"echo {name} >> '{ran}'")
    settings = json.loads((kit.agent_dir / "models.json").read_text())
    settings["providers"]["mine"]["apiKey"] = "!vault read key || echo k"
    (kit.agent_dir / "models.json").write_text(json.dumps(settings))
    kit.model.tools = [("grep", {"pattern": "zz"}), ("find", {"pattern": "*.zz"})]
    kit.model.calls = [{"command": "fd"}]
    path = f".:node_modules/.bin::{kit.environ['PATH']}"

    done = subprocess.run(
        [sys.executable, "-m", "pi", "-p", "--model", "mine/m", "--tools", "bash,grep,find", "hi"],
        cwd=kit.project.cwd,
        env={**kit.environ, "PATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    assert done.stdout == "All is well.\n", done.stderr
    assert len(kit.model.requests) == 4
    assert ran.read_text() == "fd\n", "only the command of the model finds programs there"


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_nothing_is_read_or_run_before_the_trust_dialog_is_answered_or_after_a_refusal(
    kit: AuditFixture,
) -> None:
    audited = [sys.executable, str(AUDITED), str(kit.log), "cli", "--model", "mine/m"]
    environ = {**kit.environ, "TERM": "xterm-256color"}
    with terminal(audited, cwd=kit.project.cwd, env=environ) as screen:
        screen.wait_for(rb"Do not trust \(this session only\)", within=TIMEOUT_SECONDS)
        screen.send(DOWN * 4 + b"\r")
        screen.wait_for(rb"Not trusted, so not loaded by pi itself", within=TIMEOUT_SECONDS)
        screen.send(b"hello\r")
        screen.wait_for(rb"All is well\.", within=TIMEOUT_SECONDS)
        screen.send(b"/quit\r")
        ended = screen.finish(within=TIMEOUT_SECONDS)
    outcome = kit.audited()

    assert ended.exit_code == 0
    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, kit.loot) == ([], [], [])
    assert [INJECTION in request for request in kit.model.requests] == [False]


@pytest.mark.full
@pytest.mark.parametrize("mode", sampled(MODES, 1))
def test_skipped_files_are_reported_once_with_the_option_to_allow_them(
    kit: AuditFixture, mode: str
) -> None:
    lines = [line for line in kit.open(mode).stderr.splitlines() if "Not trusted" in line]

    assert len(lines) == 1
    assert "--approve" in lines[0]
    for name in ("CLAUDE.md", "sub/AGENTS.md", "sub/.env", "sub/.pi/settings.json"):
        assert str(kit.project.root / name) in lines[0]
    assert "Not trusted" not in kit.open(mode, approve=True).stderr


@pytest.mark.parametrize("mode", sampled(MODES, keep=1))
def test_all_project_files_are_used_with_approval(kit: AuditFixture, mode: str) -> None:
    kit.model.command = "true"
    outcome = kit.open(mode, approve=True)

    assert kit.project.readable <= outcome.opened
    assert kit.model.requests[0].count(INJECTION) >= 7
    assert [name.partition("_evil_")[0] for name in kit.loot] == ["bash", "pi_extension", "prefix"]
    assert list((kit.project.cwd / "stolen-sessions").rglob("*.jsonl"))


@pytest.mark.full
def test_commands_in_an_untrusted_project_ignore_its_settings(kit: AuditFixture) -> None:
    kit.model.command = "true"
    outcome = kit.open("print")

    supervisor, command = sorted(outcome.started, key=lambda each: "'-c', 'true'" in each)
    assert ("supervisor" in supervisor, "'-c', 'true'" in command) == (True, True)
    assert kit.loot == []
    assert outcome.opened <= ALLOWED


@pytest.mark.parametrize(
    "words", sampled(["--version", "--help", "--list-models", "doctor", "sessions"], keep=2)
)
def test_other_commands_neither_read_nor_run_anything_in_an_untrusted_project(
    kit: AuditFixture, words: str
) -> None:
    kit.run([sys.executable, str(AUDITED), str(kit.log), "cli", *words.split()])
    outcome = kit.audited()

    assert outcome.opened <= ALLOWED
    assert (outcome.started, outcome.imported, kit.loot) == ([], [], [])


@pytest.mark.full
@pytest.mark.behaviour("trust-uses-canonical-paths")
def test_the_home_folder_is_not_treated_as_a_project(kit: AuditFixture) -> None:
    (kit.home / ".env").write_text("COLOUR=green")
    skill = kit.home / ".agents/skills/mine/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: MINE\n---\nText.")
    (kit.home / "link").symlink_to(kit.home)
    kit.project = HostileProject(root=kit.home, cwd=kit.home / "link", loot=kit.project.loot)
    outcome = kit.open("print")

    assert outcome.stderr == ""
    assert ".env" in outcome.opened
    assert "MINE" in kit.model.requests[0]


@pytest.mark.behaviour("child-environment-is-clean")
def test_commands_inherit_neither_dotenv_variables_nor_git_variables(kit: AuditFixture) -> None:
    kit.model.command = 'echo "evil=[$EVIL$BASH_ENV] git=[$GIT_DIR$GIT_WORK_TREE] path=[$PATH]"'
    (kit.project.cwd / ".pi/settings.json").write_text("{}")
    outcome = kit.open("json", approve=True)

    assert "sub/.env" in outcome.opened
    assert f"evil=[] git=[] path=[{os.environ['PATH']}]" in outcome.stdout
    assert "bash" not in kit.loot


@pytest.mark.full
def test_a_stored_trust_decision_applies_to_the_folder_and_not_to_its_parent(
    kit: AuditFixture,
) -> None:
    trust = kit.agent_dir / "trust.json"
    trust.write_text(json.dumps({str(kit.project.cwd): True, str(kit.project.root): False}))
    outcome = kit.open("print")

    assert "sub/AGENTS.md" in outcome.opened
    assert "CLAUDE.md" not in outcome.opened
    assert str(kit.project.root / "CLAUDE.md") in outcome.stderr


def test_a_symbolic_link_does_not_bypass_the_trust_decision(kit: AuditFixture) -> None:
    real = kit.project.root
    link = real.parent / "looks-mine"
    link.symlink_to(real)
    kit.project = HostileProject(root=real, cwd=link / "sub", loot=kit.project.loot)
    trust = kit.agent_dir / "trust.json"
    trust.write_text(json.dumps({str(link): True, str(real): False}))

    assert kit.open("print").opened <= ALLOWED


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("mode", sampled(MODES, 1))
def test_strace_sees_no_forbidden_access_to_an_untrusted_project(
    kit: AuditFixture, mode: str, program: Callable[[str, str], str], tmp_path: Path
) -> None:
    strace = program("strace", "what the kernel saw of an untrusted project")
    trace = tmp_path / "trace"
    kinds = "trace=open,openat,openat2,execve,execveat"
    traced = [strace, "-f", "-qq", "-y", "-s", "4096", "-e", kinds, "-o", str(trace)]
    if subprocess.run([*traced, "true"], capture_output=True).returncode != 0:
        pytest.skip("strace may not trace here; not tested: what the kernel saw")
    prompt = "/evil" if mode == "rpc" else None

    def opened(*, approve: bool) -> tuple[set[str], list[str]]:
        kit.run([*traced, *kit.command(mode, "/evil", approve=approve)], rpc_prompt=prompt)
        return _files_of(trace, kit.project)

    files, programs = opened(approve=False)
    assert (files - ALLOWED, len(programs)) == (set(), 1)
    assert kit.loot == []
    files, _ = opened(approve=True)
    assert kit.project.readable <= files


def _files_of(trace: Path, project: HostileProject) -> tuple[set[str], list[str]]:
    """Return the opened files of the project, and the started programs."""
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


@pytest.mark.full
async def test_internal_programs_import_nothing_from_the_working_directory(
    kit: AuditFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kit.project.cwd)
    server = LocalServer(kit.home / "none.gguf", context=512, environ=kit.environ)
    with pytest.raises(ProviderError):
        await server.address()
    await server.close()
    await run_pip(["download", "--help"], kit.environ, progress=lambda done, total: None)

    assert kit.loot == []
