"""A plan on a real terminal: the key, a question, the proposal, the approval."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = [needs_pty, pytest.mark.slow]

QUESTION = {
    "id": "rounding",
    "question": "How is it rounded?",
    "options": [
        {"label": "To cents", "preview": "6.3 exactly"},
        {"label": "Not at all", "preview": "6.300000001"},
    ],
}


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    settings = {"plan": {"enabled": True}, "ask": {"enabled": True}}
    program.write("settings.json", json.dumps(settings))
    return program


def test_writes_are_denied_until_questions_are_answered_and_the_plan_is_approved(
    cli: Program, model: LoopbackModel
) -> None:
    model.tools = [
        ("write", {"path": "early.txt", "content": "x"}),
        ("ask", {"questions": [QUESTION]}),
        ("propose_plan", {"plan": "# Discounts\n\n1. Write late.txt\n"}),
        ("write", {"path": "late.txt", "content": "x"}),
    ]
    with terminal_user(cli, "--model", "mock/echo-1") as user:
        user.sees("(mock) echo-1")
        user.types("\x1bm")  # as every terminal sends Alt+M
        user.sees("plan mode")
        user.types("Add discounts\r")
        user.sees("6.3 exactly")
        user.types("\x1b[B")
        user.sees("6.300000001")
        user.types("\r")
        user.sees("Approve and clear context")
        user.sees("Write late.txt")
        assert not (cli.cwd / "late.txt").exists()
        user.types("\r")
        user.sees("All is well.")
        assert user.leaves() == 0

    assert not (cli.cwd / "early.txt").exists()
    assert (cli.cwd / "late.txt").read_text() == "x"
    assert "rounding: Not at all" in model.requests[2]
