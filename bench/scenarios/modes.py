"""What the headless modes cost: from the start to the first request, per delta and per tool call.

Each runs the real program with the mock server; the floors do the same with bare Python.
"""

from __future__ import annotations

from bench.scenario import (
    Command,
    Metric,
    Scenario,
    Target,
    cpu_ms,
    figure,
    peak_mb,
    python,
    wall_ms,
)
from bench.scenarios.bare import DELTAS_STDLIB, FEW, MANY, REQUEST_SOCKET, THOUSANDS

CALLS = 50


def pi(*arguments: str) -> tuple[str, ...]:
    """The command line of pi with the models of the mock server."""
    return ("bench/programs/modes/pi.sh", "{port}", *arguments)


def asking(mode: str, model: str) -> tuple[str, ...]:
    """pi asks a model once."""
    return pi("--mode", mode, "--model", f"mock/{model}", "-p", "hi")


def client(*command: str) -> Command:
    """A client of an RPC server."""
    return Command(words=python("modes.rpc_client", *command))


def editor(mode: str) -> Command:
    """A client that sends one prompt with 2,000 deltas to a server."""
    command = pi("--mode", mode, "--model", "mock/echo-2000")
    return Command(words=python("modes.acp_client", mode, *command))


def linear(deltas: int) -> Command:
    """JSON mode with that many deltas; reports what the last thousand cost."""
    return Command(words=python("modes.json_deltas", deltas))


def streaming(name: str, mode: str, most: float) -> Scenario:
    """20,000 deltas in a mode."""
    return Scenario(
        name=name,
        about=f"pi --mode {mode} hears 20,000 deltas; the floor is http.client and json",
        measured=Command(words=asking(mode, MANY), without=asking(mode, FEW)),
        floor=DELTAS_STDLIB,
        metrics=(
            Metric(
                name="cpu per 1,000 deltas",
                unit="ms",
                read=cpu_ms,
                per=THOUSANDS,
                target=Target(at_most=most),
            ),
        ),
    )


def arriving(*command: str) -> Command:
    """A program whose first request is waited for."""
    return Command(words=python("modes.first_request", *command))


SCENARIOS = (
    Scenario(
        name="first-request",
        about="pi -p until its request arrives; the floor asks with a plain socket",
        measured=arriving(
            "bench/programs/modes/pi.sh", "PORT", "--model", f"mock/{FEW}", "-p", "hi"
        ),
        floor=arriving(".venv/bin/python", "bench/floors/request_socket.py", "PORT", FEW),
        metrics=(
            figure(0, "cpu until then", "ms", Target(at_most=150)),
            figure(1, "start → request", "ms", Target(at_most=180)),
        ),
    ),
    Scenario(
        name="one-shot",
        about="pi -p asks for 20 deltas; the floor asks with a plain socket",
        measured=Command(words=asking("text", FEW)),
        floor=REQUEST_SOCKET,
        metrics=(
            Metric(name="cpu", unit="ms", read=cpu_ms, target=Target(at_most=220)),
            Metric(name="peak memory", unit="MB", read=peak_mb, target=Target(at_most=55)),
        ),
    ),
    streaming("text-deltas", "text", 8),
    streaming("json-deltas", "json", 15),
    Scenario(
        name="json-linear",
        about="the last 1,000 of 20,000 deltas in JSON mode; the floor is the last of 2,000",
        measured=linear(20_000),
        floor=linear(2_000),
        metrics=(figure(0, "cpu per 1,000 deltas", "ms", Target(times_floor=1.5)),),
    ),
    Scenario(
        name="tool-calls",
        about="pi -p runs 50 times `echo hi`; the floor is http.client and subprocess",
        measured=Command(words=asking("text", "tools-50"), without=asking("text", FEW)),
        floor=Command(
            words=(".venv/bin/python", "bench/floors/tool_calls.py", "{port}", "tools-50")
        ),
        metrics=(
            Metric(
                name="wall per call", unit="ms", read=wall_ms, per=CALLS, target=Target(at_most=8)
            ),
            Metric(name="cpu", unit="ms", read=cpu_ms, target=Target(at_most=900)),
        ),
    ),
    Scenario(
        name="rpc",
        about="a client starts pi --mode rpc and prompts it; the floor answers at once",
        measured=client(*pi("--mode", "rpc", "--model", "mock/echo-1")),
        floor=client(".venv/bin/python", "bench/floors/rpc_echo.py"),
        metrics=(
            figure(0, "start → first answer", "ms", Target(at_most=150)),
            figure(1, "cpu until then", "ms", Target(at_most=150)),
            figure(2, "prompt round trip", "ms", Target(at_most=4)),
            figure(3, "idle memory", "MB", Target(at_most=55)),
        ),
    ),
    Scenario(
        name="acp",
        about="an editor starts pi acp and hears 2,000 deltas; the floor is pi --mode rpc",
        measured=editor("acp"),
        floor=editor("rpc"),
        metrics=(
            figure(0, "start → first delta", "ms", Target(times_floor=1.1)),
            figure(1, "cpu until then", "ms", Target(times_floor=1.1)),
            figure(2, "cpu of 2,000 deltas", "ms", Target(times_floor=1.5)),
        ),
    ),
)
