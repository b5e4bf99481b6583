"""``pi config`` of the real program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.coding.packages.making import make_package
from tests.screens.terminal_user import needs_pty, terminal_user

pytestmark = [pytest.mark.slow, needs_pty]


def test_resources_of_packages_can_be_disabled_on_the_config_screen(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    package = make_package(tmp_path / "tips", "prompts/a.md prompts/b.md extensions/c.ts")
    settings = cli.write("settings.json", json.dumps({"packages": [str(package)]}))

    with terminal_user(cli, "config") as ada:
        ada.sees("→ extensions/c.ts  [x] extensions of")
        ada.types("\x1b[B\x1b[B ")
        ada.sees("→ prompts/b.md     [ ] prompts of")
        ada.types("\x1b")
        assert ada.ends() == 0
        assert ada.echoes

    assert json.loads(settings.read_text()) == {
        "packages": [{"source": str(package), "prompts": ["-prompts/b.md"]}]
    }
