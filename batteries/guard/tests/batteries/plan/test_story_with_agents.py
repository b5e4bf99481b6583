"""On a real terminal: a plan is approved, three agents carry it out, a fourth reviews it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.workspace import ROOT
from tests.batteries.test_bundled import install
from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user

pytestmark = [needs_pty, pytest.mark.slow]
MODEL = ROOT / "scripts/screenshots/story_model.py"


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    program.environ["PI_OFFLINE"] = "1"
    settings = {"plan": {"enabled": True}, "task": {"enabled": True}}
    program.write("settings.json", json.dumps(settings))
    (program.cwd / "cart.py").write_text("def total(items):\n    return 0\n")
    return program


@pytest.mark.full
@pytest.mark.behaviour("plan-mode-changes-nothing")
def test_plan_approve_three_agents_review(cli: Program) -> None:
    with terminal_user(cli, "-e", str(MODEL), "--model", "faux/faux", "--plan-mode") as user:
        user.sees("(faux) faux")
        user.sees("plan mode")
        user.types("Add discounts to the cart\r")
        user.sees("Approve and clear context")
        user.sees("Three agents work on these")
        assert sorted(path.name for path in cli.cwd.glob("*.*")) == ["cart.py"]
        assert "discount" not in (cli.cwd / "cart.py").read_text()
        user.types("\r")
        user.sees("the review approves")
        assert user.leaves() == 0

    assert "discount=0" in (cli.cwd / "cart.py").read_text()
    assert "assert total" in (cli.cwd / "test_cart.py").read_text()
    assert "ten per cent" in (cli.cwd / "README.md").read_text()
    assert not (cli.cwd / "early.txt").exists()
