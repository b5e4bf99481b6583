"""What the guards add to a tool call: permissions, secrets, rewind and the sandbox together."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

CALLS = 60


def guarded(kind: str, guards: str) -> Command:
    """Calls of one kind in a session with or without guards."""
    return Command(words=python("guards.calls", guards, kind, CALLS))


SCENARIOS = tuple(
    Scenario(
        name=f"guards-{kind}",
        about=f"a call of {tool} with permissions, secrets, rewind and sandbox; the floor has none",
        measured=guarded(kind, "on"),
        floor=guarded(kind, "off"),
        metrics=(figure(0, "cpu per call", "ms", Target(above_floor=3)),),
    )
    for kind, tool in (("read", "read"), ("edit", "write"), ("bash", "bash"))
)
