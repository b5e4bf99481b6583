"""Language servers: what a write costs, and that none is started without need."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def writes(servers: int) -> Command:
    """50 writes of a file of 9 KB."""
    return Command(words=python("lsp.writes", servers))


SCENARIOS = (
    Scenario(
        name="lsp-write",
        about="a write with diagnostics of one server; the floor has the battery off",
        measured=writes(1),
        floor=writes(0),
        metrics=(
            figure(0, "own cpu per write", "ms", Target(at_most=5)),
            figure(1, "servers before the first matching write", "", Target(at_most=0)),
        ),
    ),
)
