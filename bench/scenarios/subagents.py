"""Sub-agents: what the session of one costs."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

SCENARIOS = (
    Scenario(
        name="subagent-open",
        about="50 sub-agents in files whose sessions stay open; the floor is bare and in memory",
        measured=Command(words=python("subagents.opening", "agents", 50)),
        floor=Command(words=python("subagents.opening", "bare", 50)),
        metrics=(
            figure(0, "CPU each", "ms", Target(at_most=15)),
            figure(1, "wall each", "ms", Target(at_most=15)),
            figure(2, "memory each", "KiB", Target(at_most=1024)),
        ),
    ),
)
