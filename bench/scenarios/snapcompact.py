"""Snapcompact: pictures are drawn in a thread, so that keys and frames of the screen go on."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def drawing(frames: int) -> Command:
    """Draw so many full pictures."""
    return Command(words=python("snapcompact.drawing", frames))


SCENARIOS = (
    Scenario(
        name="snap-frames",
        about="8 pictures of 33,930 characters in a thread; the floor is a loop that only waits",
        measured=drawing(8),
        floor=drawing(0),
        metrics=(
            figure(0, "loop pause", "ms", Target(at_most=50)),
            figure(1, "cpu per picture", "ms"),
        ),
    ),
)
