"""The page of the RPC protocol names every command, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from pi.modes.rpc.commands import COMMANDS

OWN_ANSWERS = {"prompt", "abort_and_prompt", "bash"}
"""Commands that the server itself carries out."""


def test_the_page_lists_the_commands_that_there_are(root: Path) -> None:
    page = (root / "docs/reference/rpc.md").read_text("utf-8")
    table = page.partition("| command |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {
        *COMMANDS,
        *OWN_ANSWERS,
    }


def test_the_events_of_the_page_are_in_the_code(root: Path) -> None:
    page = (root / "docs/reference/rpc.md").read_text("utf-8")
    section = page.partition("## Events")[2].partition("## ")[0]
    code = "".join(path.read_text("utf-8") for path in sorted((root / "src/pi").rglob("*.py")))
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", section)) - {"since_session_ms"}

    assert len(named) > 10
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []
