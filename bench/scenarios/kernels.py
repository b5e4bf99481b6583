"""Kernels: start, round trip, long output, interrupt and memory."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def kernel(language: str) -> Command:
    """The program in ``bench/programs/kernels``."""
    return Command(words=python("kernels.cells", language))


SCENARIOS = (
    Scenario(
        name="kernel-python",
        about="a Python kernel; the floor is an interpreter that executes lines, with no runner",
        measured=kernel("python"),
        floor=kernel("bare"),
        metrics=(
            figure(0, "start", "ms", Target(at_most=250)),
            figure(1, "round trip", "ms", Target(at_most=3)),
            figure(2, "3 MB of output", "ms", Target(at_most=500)),
            figure(3, "interrupt", "ms", Target(at_most=100)),
            figure(4, "memory", "MB", Target(at_most=25)),
        ),
    ),
    Scenario(
        name="kernel-js",
        about="a JavaScript kernel with Node; the floor is a Python interpreter without a runner",
        measured=kernel("javascript"),
        floor=kernel("bare"),
        metrics=(
            figure(0, "start", "ms"),
            figure(1, "round trip", "ms", Target(at_most=5)),
            figure(2, "3 MB of output", "ms"),
            figure(3, "interrupt", "ms"),
            figure(4, "memory", "MB"),
        ),
    ),
)
