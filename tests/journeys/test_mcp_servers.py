"""Servers of MCP as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.journeys.program import Journey

SERVER = Path(__file__).parent.parent / "batteries" / "mcp" / "server_program.py"


@pytest.mark.parametrize("mode", ["print", "rpc"])
def test_only_an_attended_program_waits_for_a_server_that_ends_late(
    journey: Journey, mode: str
) -> None:
    definition = {"command": sys.executable, "args": ["-I", str(SERVER), "modern", "late"]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"s": definition}}))
    journey.model.says("done")

    if mode == "print":
        assert journey.pi("-p", "go").code == 0
    else:
        with journey.rpc() as client:
            client.prompts("go")

    assert (journey.home.cwd / "ended").exists() == (mode == "rpc")
