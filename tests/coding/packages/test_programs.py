from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallFailed

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
    said = (await spied.git("clone", "--", "x", cwd=tmp_path)).splitlines()

    assert said[said.index("clone") :][:3] == ["clone", "--", "x"]
    assert {
        "core.hooksPath=/dev/null",
        "protocol.ext.allow=never",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_SSH_COMMAND=ssh -o BatchMode=yes",
        "SSH_AUTH_SOCK=/agent",
        "AI_AGENT=pi",
    } <= set(said)
    assert not [line for line in said if line.startswith(("SECRET", "PYTHONPATH"))]
    assert f"GIT_DIR={tmp_path}/.git" in said


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("hello\nbad https://a:b@h.dev/\033[2J", "bad https://h.dev/"),
        ("x\nERROR: one\nERROR: two\nERROR: three\nbye", "one; two"),
        ("ERROR: Exception:\nTraceback:\n  x\nOSError: disk full", "OSError: disk full"),
    ],
)
async def test_the_reason_of_a_failure_has_no_passwords(
    programs: Programs, tmp_path: Path, said: str, reason: str
) -> None:
    script = tmp_path / "npm"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 3")
    script.chmod(0o755)
    failing = replace(programs, npm_command=(str(script),))

    with pytest.raises(InstallFailed) as caught:
        await failing.npm("install", cwd=tmp_path, package="x")

    assert caught.value.message == f"npm install failed: {reason}"


async def test_a_missing_git_is_an_error(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(InstallFailed, match="git was not found"):
        await replace(programs, environ={"PATH": str(tmp_path)}).git("x", cwd=tmp_path)


async def test_a_question_to_git_has_two_answers(programs: Programs, tmp_path: Path) -> None:
    assert await programs.git_agrees("version", cwd=tmp_path)
    assert not await programs.git_agrees("rev-parse", "HEAD", cwd=tmp_path)


async def test_pip_imports_nothing_of_the_folder_it_works_in(
    programs: Programs, tmp_path: Path
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('this is no pip')")
    (tmp_path / "json.py").write_text("raise SystemExit('this is no json')")

    said = await programs.pip("install", "--help", cwd=tmp_path, package="x")

    assert "--require-hashes" in said
