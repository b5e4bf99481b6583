"""Hooks in the terminal application: the question, the refusal, and a changed script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pi.version import __version__
from tests.batteries.hooks.hook_session import HookProject
from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1", "--approve")


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@needs_pty
def test_consent_is_requested_for_a_hook_and_again_after_its_script_has_changed(
    tmp_path: Path, model: LoopbackModel
) -> None:
    cli = Program.below(tmp_path)
    cli.use_server(urlsplit(model.url).port or 0)
    cli.write("settings.json", json.dumps({"lastChangelogVersion": __version__}))
    project = HookProject(tmp_path)
    project.cwd = cli.cwd
    project.on("PreToolUse", "echo 'touching is not allowed' >&2; exit 2", "Bash")
    model.tools = [("bash", {"command": "touch x"})]

    with terminal_user(cli, *MODEL) as user:
        user.sees("Run the hook PreToolUse")
        user.sees("Allow for this session")
        user.types("\r")
        user.sees("Ask anything")
        user.types("go\r")
        user.sees("touching is not allowed")
        user.sees("All is well.")
        user.leaves()
    assert not (cli.cwd / "x").exists()

    project.script("hook0.sh", "exit 0")
    with terminal_user(cli, *MODEL) as user:
        user.sees("Run the hook PreToolUse")
        user.sees("Allow for this session")
        user.types("\x1b")
        user.sees("Ask anything")
        user.leaves()
