"""What the loop costs: per delta, per tool call, and in a long conversation.

Models are in memory, so that nothing but the loop is measured. The floors read the same answers
and call the same tool with no agent around them.
"""

from __future__ import annotations

from bench.scenario import Command, Metric, Scenario, Target, cpu_ms, figure, python

FEW, MANY = 20, 100_000
THOUSANDS = (MANY - FEW) / 1000
"""Deltas, in thousands, by which MANY is more than FEW."""


def program(name: str, number: int) -> tuple[str, ...]:
    """The command line of a program in ``bench/programs/agent``."""
    return python(f"agent.{name}", number)


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
    metrics=(figure(0, "cpu per 1,000 calls", "ms"),),
)

LONG = Scenario(
    name="agent-long",
    about="the last 1,000 of 10,000 calls in one conversation; the floor is the first 1,000",
    measured=Command(words=program("calls", 10_000)),
    floor=Command(words=program("calls", 1000)),
    metrics=(figure(0, "cpu per 1,000 calls", "ms", Target(times_floor=1.5)),),
)

SCENARIOS = (DELTAS, CALLS, LONG)
