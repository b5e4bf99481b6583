"""The pages about the RPC protocol list exactly the existing commands and events."""

from __future__ import annotations

import re
from pathlib import Path

from pi.modes.rpc.commands import COMMANDS
from scripts.workspace import source_files
from tests.modes.rpc.test_commands import ADDED

OWN_ANSWERS = {"prompt", "abort_and_prompt", "bash"}
"""Commands that the server handles itself."""


def test_the_rpc_page_lists_exactly_the_existing_commands(root: Path) -> None:
    page = (root / "docs/reference/rpc.md").read_text("utf-8")
    table = page.partition("| command |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {
        *COMMANDS,
        *OWN_ANSWERS,
    }


def test_the_compatibility_page_lists_exactly_the_added_rpc_commands(root: Path) -> None:
    page = (root / "docs/compatibility.md").read_text("utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("| RPC |")]

    assert set(re.findall(r"`(\w+)`", row)) == ADDED


def test_every_documented_rpc_event_is_in_the_code(root: Path) -> None:
    page = (root / "docs/reference/rpc.md").read_text("utf-8")
    section = page.partition("## Events")[2].partition("## ")[0]
    code = "".join(path.read_text("utf-8") for path in source_files(root))
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", section)) - {"since_session_ms"}

    assert len(named) > 10
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []
