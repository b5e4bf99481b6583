"""What a list of many sessions costs: the first time, with the index, and ten times as many."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure
from bench.scenarios.sessions import LINEAR, program

MANY = 5_000


def listing(name: str, when: str, before: int, floor: str) -> Scenario:
    """Listing MANY sessions after ``before`` other listings."""
    return Scenario(
        name=name,
        about=f"list {MANY:,} sessions {when}; the floor {floor}",
        measured=Command(words=program("listing", MANY, before)),
        floor=Command(words=program("bare_listing", MANY, before)),
        metrics=(figure(0, "cpu", "ms"),),
    )


SCENARIOS = (
    listing("list-first", "without an index", 0, "reads the headers and counts the lines"),
    listing("list-again", "with the index", 1, "only looks at the files"),
    Scenario(
        name="list-linear",
        about=f"list {MANY:,} sessions with the index; the floor is {MANY // 10:,}",
        measured=Command(words=program("listing", MANY, 1)),
        floor=Command(words=program("listing", MANY // 10, 1)),
        metrics=(figure(0, "cpu", "ms", Target(times_floor=LINEAR)),),
    ),
)
