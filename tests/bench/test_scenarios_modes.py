from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.mock_process import MockProcess
from bench.scenarios.modes import arriving, asking, client, linear, pi
from bench.trial import observe


def test_the_real_program_prints_the_response_of_the_mock_server(
    server: MockProcess,
) -> None:
    seen = observe(asking("text", "echo-20"), server)

    assert seen.run.output.startswith(b"The quick brown fox")
    assert len(seen.exchanges) == 1


@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, "bench/floors/request_socket.py", "PORT", "echo-20"),
        ("bench/programs/modes/pi.sh", "PORT", "--model", "mock/echo-20", "-p", "hi"),
    ],
)
def test_the_cpu_and_wall_time_of_the_first_request_are_reported(
    command: tuple[str, ...], server: MockProcess
) -> None:
    cpu, wall = map(float, observe(arriving(*command).words, server).run.output.split())

    assert cpu > 0
    assert wall > 0


def test_the_floor_program_runs_every_requested_tool_call(server: MockProcess) -> None:
    words = (sys.executable, "bench/floors/tool_calls.py", "{port}", "tools-3")

    assert len(observe(words, server).exchanges) == 4


@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, "bench/floors/rpc_echo.py"),
        pytest.param(pi("--mode", "rpc", "--model", "mock/echo-1"), marks=pytest.mark.full),
    ],
)
def test_a_client_reports_times_and_memory(command: tuple[str, ...], server: MockProcess) -> None:
    words = observe(client(*command).words, server).run.output.split()
    first, cpu, prompt, memory = map(float, words)

    assert first > prompt > 0
    assert cpu > 0
    assert memory > 1


@pytest.mark.full
def test_the_cpu_time_of_the_last_thousand_deltas_in_json_mode_is_reported(
    server: MockProcess,
) -> None:
    seen = observe(linear(2000).words, server)

    assert 0 < float(seen.run.output) <= seen.run.cpu * 1e3


def test_the_launcher_of_pi_can_be_run(root: Path) -> None:
    assert (root / "bench/programs/modes/pi.sh").stat().st_mode & 0o111
