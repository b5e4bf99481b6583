"""Plan mode in the real program, beside MCP servers, the kernel and the shell session."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scripts.workspace import ROOT, find_test
from tests.cli.program import Program
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1", "-p")
SERVER = find_test(ROOT, "batteries/mcp/server_program.py")
ECHO = ("mcp__notes__echo", {"text": "hello"})
CELL = ("python", {"cells": [{"code": "open('made.txt', 'w').write('x')"}]})
SHELL = ("bash", {"command": "cat() { touch made.txt; }; cat"})


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    server = {"command": sys.executable, "args": [str(SERVER), "2025-06-18"]}
    program.write("mcp.json", json.dumps({"mcpServers": {"notes": server}}))
    program.write("settings.json", json.dumps({"eval": {"py": True}, "bash": {"extended": True}}))
    return program


@pytest.mark.slow
@pytest.mark.behaviour("plan-mcp-tools")
def test_servers_and_kernels_are_refused_until_the_plan_is_approved(
    cli: Program, model: LoopbackModel
) -> None:
    proposal = ("propose_plan", {"plan": "# Say hello\n"})
    model.tools = [ECHO, CELL, SHELL, proposal, ECHO]

    ended = cli.run(*MODEL, "--plan-yolo", "go")

    assert (ended.code, ended.err) == (0, "")
    assert "mcp__notes__echo may change something" in model.requests[1]
    assert "python may change something" in model.requests[2]
    assert "The user approved the plan" in model.requests[4]
    assert "You said hello." in model.requests[5]
    assert not (cli.cwd / "made.txt").exists()
    declared = [sorted(_tools(request)) for request in model.requests]
    assert all(names == declared[0] for names in declared)


def _tools(request: str) -> list[str]:
    return [tool["function"]["name"] for tool in json.loads(request)["tools"]]


def test_without_the_flag_the_command_or_the_setting_nothing_is_declared(
    cli: Program, model: LoopbackModel
) -> None:
    cli.write("mcp.json", "{}")
    assert cli.run(*MODEL, "go").code == 0

    assert "propose_plan" not in model.requests[0]
    assert "lan mode" not in model.requests[0]
