"""The status engine: how soon commands answer, how late frames are, how true its time is."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def program(name: str, *arguments: str) -> Command:
    """A program in ``bench/programs/status_engine``."""
    return Command(words=python(f"status_engine.{name}", *arguments))


SCENARIOS = (
    Scenario(
        name="status-command",
        about="95 % of the answers of a command that takes 150 ms and is given 350 ms; "
        "the floor takes no time itself",
        measured=program("latency", "0.15"),
        floor=program("latency", "0"),
        metrics=(figure(0, "p95", "ms", Target(at_most=350)),),
    ),
    Scenario(
        name="status-hanging",
        about="the latest of 180 frames while a command hangs and is started again and again; "
        "the floor has no command",
        measured=program("frames", "sleep", "600"),
        floor=program("frames"),
        metrics=(figure(0, "latest frame", "ms", Target(at_most=50)),),
    ),
    Scenario(
        name="status-time",
        about="how far the time of a session of 6 s is from a stopwatch; the floor is one of 1 s",
        measured=program("accuracy", "6"),
        floor=program("accuracy", "1"),
        metrics=(figure(0, "error", "ms", Target(at_most=200)),),
    ),
    Scenario(
        name="status-frame",
        about="CPU of the rows in a frame in which nothing has changed; the floor has none",
        measured=program("frame_cost", "on"),
        floor=program("frame_cost", "off"),
        metrics=(figure(0, "cpu per frame", "µs", Target(at_most=300)),),
    ),
)
