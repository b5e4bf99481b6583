"""What the loop costs: per delta, per tool call, and in a long conversation.

Models are in memory, so that nothing but the loop is measured. The floors hear the same answers
and call the same tool with no agent around them.
"""

from __future__ import annotations

from bench.scenario import Command, Metric, Observation, Scenario, Target, cpu_ms

FEW, MANY = 20, 100_000
THOUSANDS = (MANY - FEW) / 1000
"""Deltas, in thousands, by which MANY is more than FEW."""


def program(name: str, number: int) -> tuple[str, ...]:
    """The command line of a program in ``bench/programs/agent``."""
    return (".venv/bin/python", "-m", f"bench.programs.agent.{name}", str(number))


def told(seen: Observation) -> float:
    """The figure that the program prints."""
    return float(seen.run.output)


DELTAS = Scenario(
    name="agent-deltas",
    about="a listener and three policies hear 100,000 deltas; the floor is a bare async for",
    measured=Command(words=program("deltas", MANY), without=program("deltas", FEW)),
    floor=Command(words=program("bare_deltas", MANY), without=program("bare_deltas", FEW)),
    metrics=(
        Metric(
            name="cpu per 1,000 deltas",
            unit="ms",
            read=cpu_ms,
            per=THOUSANDS,
            target=Target(at_most=2),
        ),
    ),
)

CALLS = Scenario(
    name="agent-calls",
    about="1,000 calls of a tool that does nothing, one per answer; the floor has no agent",
    measured=Command(words=program("calls", 1000)),
    floor=Command(words=program("bare_calls", 1000)),
    metrics=(Metric(name="cpu per 1,000 calls", unit="ms", read=told),),
)

LONG = Scenario(
    name="agent-long",
    about="the last 1,000 of 10,000 calls in one conversation; the floor is the first 1,000",
    measured=Command(words=program("calls", 10_000)),
    floor=Command(words=program("calls", 1000)),
    metrics=(
        Metric(
            name="cpu per 1,000 calls",
            unit="ms",
            read=told,
            target=Target(times_floor=1.5),
        ),
    ),
)

SCENARIOS = (DELTAS, CALLS, LONG)
