"""Strategies of batteries are known without loading them, and load when they are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.mock_process import mock_server
from tests.batteries.test_bundled import install
from tests.cli.program import Program
from tests.sampling import sampled


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    program.environ["PI_OFFLINE"] = "1"
    return program


@pytest.mark.parametrize(
    ("name", "is_known"), sampled([("handoff", True), ("handof", False)], keep=1)
)
def test_an_unknown_strategy_is_an_error_of_doctor_and_one_warning_at_start(
    cli: Program, name: str, is_known: bool
) -> None:
    cli.write("settings.json", json.dumps({"compaction": {"strategy": name}}))
    doctor = cli.run("doctor")
    with mock_server() as server:
        cli.use_server(server.port)
        cli.write("settings.json", json.dumps({"compaction": {"strategy": name}}))
        ended = cli.run("-p", "--model", "mock/echo-3", "hello")

    assert ("unknown strategy" in doctor.out) is not is_known
    assert ended.code == 0
    assert ended.err.count("Unknown compaction.strategy") == int(not is_known)
    if not is_known:
        assert doctor.code == 1
        assert "Did you mean handoff?" in doctor.out


def test_a_strategy_is_loaded_when_it_is_requested_by_name(cli: Program) -> None:
    requests = [
        {"id": "1", "type": "prompt", "message": "hello"},
        {"id": "2", "type": "preview_compaction", "strategy": "handoff"},
        {"id": "3", "type": "preview_compaction", "strategy": "nope"},
    ]
    with mock_server() as server:
        cli.use_server(server.port)
        piped = "".join(json.dumps(request) + "\n" for request in requests)
        ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", piped=piped)

    answers = {
        answer["id"]: answer for answer in map(json.loads, ended.out.splitlines()) if "id" in answer
    }
    assert answers["2"]["data"]["strategy"] == "handoff"
    assert answers["2"]["data"]["keeps"] == "nothing"
    assert answers["3"]["success"] is False
    assert 'Unknown compaction strategy "nope"' in answers["3"]["error"]
