from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages import programs as installers
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallFailed
from tests.files import stand_in
from tests.sampling import sampled

SHOWN = "#!/bin/sh\nprintf '%s\\n' \"$@\"; env\n"


@pytest.fixture
def spied(tmp_path: Path, programs: Programs) -> Programs:
    """Programs with a git that prints its arguments and environment."""
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(SHOWN)
    git.chmod(0o755)
    more = {
        "PATH": f"{git.parent}:{os.environ['PATH']}",
        "SSH_AUTH_SOCK": "/agent",
        "GIT_DIR": "/elsewhere",
        "PYTHONPATH": "/evil",
    }
    return replace(programs, environ={**programs.environ, **more})


async def test_git_does_not_prompt_and_runs_no_hooks(spied: Programs, tmp_path: Path) -> None:
    lines = (await spied.git("clone", "--", "x", cwd=tmp_path)).splitlines()

    assert lines[lines.index("clone") :][:3] == ["clone", "--", "x"]
    assert {
        "core.hooksPath=/dev/null",
        "protocol.ext.allow=never",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_SSH_COMMAND=ssh -o BatchMode=yes",
        "SSH_AUTH_SOCK=/agent",
        "AI_AGENT=pi",
    } <= set(lines)
    assert not [line for line in lines if line.startswith(("SECRET", "PYTHONPATH"))]
    assert f"GIT_DIR={tmp_path}/.git" in lines


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("hello\nbad https://a:b@h.dev/\033[2J", "bad https://h.dev/"),
        ("x\nERROR: one\nERROR: two\nERROR: three\nbye", "one; two"),
        ("ERROR: Exception:\nTraceback:\n  x\nOSError: disk full", "OSError: disk full"),
    ],
)
async def test_the_reason_of_a_failure_has_no_passwords(
    programs: Programs, tmp_path: Path, output: str, reason: str
) -> None:
    script = tmp_path / "npm"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{output}\nEND\nexit 3")
    script.chmod(0o755)
    failing = replace(programs, npm_command=(str(script),))

    with pytest.raises(InstallFailed) as caught:
        await failing.npm("install", cwd=tmp_path, package="x")

    assert caught.value.message == f"npm install failed: {reason}"


async def test_a_missing_git_is_an_error(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(InstallFailed, match="git was not found"):
        await replace(programs, environ={"PATH": str(tmp_path)}).git("x", cwd=tmp_path)


async def test_git_agrees_returns_whether_git_succeeded(programs: Programs, tmp_path: Path) -> None:
    assert await programs.git_agrees("version", cwd=tmp_path)
    assert not await programs.git_agrees("rev-parse", "HEAD", cwd=tmp_path)


async def test_pip_imports_nothing_from_the_working_directory(
    programs: Programs, tmp_path: Path
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('this is no pip')")
    (tmp_path / "json.py").write_text("raise SystemExit('this is no json')")

    output = await programs.pip("install", "--help", cwd=tmp_path, package="x")

    assert "--require-hashes" in output


HANGS = {
    "silent": "exec sleep 600",
    "in a child": "sleep 600 & wait",
    "after some output": "echo begun; echo begun >&2; exec sleep 600",
    "without ending on SIGTERM": "trap '' TERM; sleep 600 & wait; wait",
}


@pytest.mark.skipif(sys.platform != "linux", reason="CPU time and I/O are known on Linux only")
@pytest.mark.parametrize("hang", sampled(HANGS.values(), keep=1), ids=HANGS)
@pytest.mark.parametrize("program", sampled(["git", "npm", "pip"], keep=1))
async def test_an_idle_program_is_stopped(
    programs: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    hang: str,
) -> None:
    monkeypatch.setattr(installers, "STALL_SECONDS", 0.4)
    own = stand_in(tmp_path / "bin/stand-in", hang)
    (own.parent / "git").symlink_to(own)
    monkeypatch.setattr(installers, "pip_command", lambda arguments: [str(own), *arguments])
    path = f"{own.parent}:{os.environ['PATH']}"
    hanging = replace(programs, npm_command=(str(own),), environ={**programs.environ, "PATH": path})
    runs = {
        "git": lambda: hanging.git("clone", "--", "x", cwd=tmp_path),
        "npm": lambda: hanging.npm("install", cwd=tmp_path, package="x"),
        "pip": lambda: hanging.pip("install", cwd=tmp_path, package="x"),
    }

    with pytest.raises(InstallFailed) as failed:
        await runs[program]()

    doing = "clone" if program == "git" else "install"
    assert failed.value.message == f"{program} {doing} did nothing for 0.4 seconds and was stopped."
    assert failed.value.hint is not None
    assert "try again" in failed.value.hint


@pytest.mark.full
async def test_a_busy_program_without_output_is_not_stopped(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installers, "STALL_SECONDS", 0.3)
    busy = stand_in(
        tmp_path / "npm", "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done; echo done"
    )

    output = await replace(programs, npm_command=(str(busy),)).npm(
        "install", cwd=tmp_path, package="x"
    )

    assert output == "done\n"


async def test_reading_a_repository_times_out(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installers, "READ_SECONDS", 0.3)
    git = stand_in(tmp_path / "bin/git", "while :; do :; done")
    environ = {**programs.environ, "PATH": f"{git.parent}:{os.environ['PATH']}"}

    with pytest.raises(InstallFailed, match=r"^git rev-parse took longer than 0\.3 seconds\.$"):
        await replace(programs, environ=environ).git("rev-parse", "HEAD", cwd=tmp_path)


@pytest.mark.parametrize("flood", ["exec yes", "exec yes >&2", "exec cat /dev/zero"])
async def test_output_without_end_is_an_error(
    programs: Programs, tmp_path: Path, flood: str
) -> None:
    own = stand_in(tmp_path / "npm", flood)

    with pytest.raises(InstallFailed, match=r"^npm view wrote output without end"):
        await replace(programs, npm_command=(str(own),)).npm("view", cwd=tmp_path, package="x")
