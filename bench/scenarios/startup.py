"""What a start costs, without a request."""

from __future__ import annotations

from bench.scenario import Command, Metric, Scenario, Target, cpu_ms, peak_mb, wall_ms

NOTHING = Command(words=(".venv/bin/python", "-c", "pass"))
"""The least that a Python program can do."""

SCENARIOS = (
    Scenario(
        name="version",
        about="pi says its version; the floor is Python that does nothing",
        measured=Command(words=(".venv/bin/pi", "--version")),
        floor=NOTHING,
        metrics=(
            Metric(
                name="cpu",
                unit="ms",
                read=cpu_ms,
                target=Target(at_most=30, times_floor=2),
            ),
            Metric(name="wall", unit="ms", read=wall_ms),
            Metric(name="peak memory", unit="MB", read=peak_mb),
        ),
    ),
    Scenario(
        name="launcher",
        about="./pi of the checkout; the floor is the program that it starts",
        measured=Command(words=("./pi", "--version")),
        floor=Command(words=(".venv/bin/pi", "--version")),
        metrics=(
            Metric(name="wall", unit="ms", read=wall_ms, target=Target(above_floor=15)),
            Metric(name="cpu", unit="ms", read=cpu_ms),
        ),
    ),
    Scenario(
        name="help",
        about="pi prints its help page; the floor is Python that does nothing",
        measured=Command(words=(".venv/bin/pi", "--help")),
        floor=NOTHING,
        metrics=(
            Metric(name="cpu", unit="ms", read=cpu_ms),
            Metric(name="wall", unit="ms", read=wall_ms),
        ),
    ),
)
