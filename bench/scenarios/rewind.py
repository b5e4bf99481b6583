"""What rewind adds to a call of the shell in a large project."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

FILES = 20_000
CALLS = 5

CAPTURES = Scenario(
    name="rewind-captures",
    about="a call of `true` in a project of 20,000 files with rewind; the floor is one without it",
    measured=Command(words=python("rewind.captures", "on", FILES, CALLS)),
    floor=Command(words=python("rewind.captures", "off", FILES, CALLS)),
    metrics=(
        figure(0, "wall per call", "ms", Target(above_floor=200)),
        figure(1, "cpu of pi per call", "ms"),
        figure(2, "longest block of the event loop", "ms"),
        figure(3, "first prompt", "ms"),
        figure(4, "delay of keys, 99 of 100", "ms"),
    ),
)

SCENARIOS = (CAPTURES,)
