"""What bare Python programs cost here: floors of the scenarios with a model."""

from __future__ import annotations

from bench.scenario import (
    Command,
    Metric,
    Scenario,
    cpu_ms,
    exit_ms,
    peak_mb,
    request_ms,
    wall_ms,
)

FEW, MANY = "echo-20", "echo-20000"
THOUSANDS = (20_000 - 20) / 1000
"""Deltas, in thousands, by which MANY is more than FEW."""


def bare(program: str, model: str) -> tuple[str, ...]:
    """The command line of a program in ``bench/floors``."""
    return (".venv/bin/python", f"bench/floors/{program}.py", "{port}", model)


REQUEST_ASYNCIO = Command(words=bare("request_asyncio", FEW))
REQUEST_SOCKET = Command(words=bare("request_socket", FEW))
DELTAS_STDLIB = Command(words=bare("deltas_stdlib", MANY), without=bare("deltas_stdlib", FEW))
DELTAS_PARSERS = Command(words=bare("deltas_parsers", MANY), without=bare("deltas_parsers", FEW))

SCENARIOS = (
    Scenario(
        name="floor-request",
        about="one request of 20 deltas with asyncio streams; the floor is a plain socket",
        measured=REQUEST_ASYNCIO,
        floor=REQUEST_SOCKET,
        metrics=(
            Metric(name="start → request read", unit="ms", read=request_ms),
            Metric(name="last byte → exit", unit="ms", read=exit_ms),
            Metric(name="cpu", unit="ms", read=cpu_ms),
            Metric(name="peak memory", unit="MB", read=peak_mb),
        ),
    ),
    Scenario(
        name="floor-deltas",
        about="20,000 deltas with http.client and json; the floor is httptools and msgspec",
        measured=DELTAS_STDLIB,
        floor=DELTAS_PARSERS,
        metrics=(
            Metric(name="cpu per 1,000 deltas", unit="ms", read=cpu_ms, per=THOUSANDS),
            Metric(name="wall per 1,000 deltas", unit="ms", read=wall_ms, per=THOUSANDS),
        ),
    ),
)
