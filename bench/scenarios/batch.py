"""What a batch costs beside the same sessions without one, and how it grows.

Sessions and results are stored; tasks have empty folders. ``batch-N`` has N sessions at a time in
one process, so that CPU and memory are those of that process.
"""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

LINEAR = 1.3
"""How much more a task may cost if there are ten times as many."""
MEMORY = {1: 80, 10: 80, 100: 100, 1_000: 300}
"""MB."""


def at_a_time(count: int) -> Scenario:
    """That many sessions at a time, beside the same without a batch."""
    return Scenario(
        name=f"batch-{count}",
        about=f"{count:,} sessions at a time in one process; the floor has no batch around them",
        measured=Command(words=python("batch.running", count, 0, count)),
        floor=Command(words=python("batch.bare", count, count)),
        metrics=(
            figure(0, "cpu per task", "ms", Target(times_floor=LINEAR)),
            figure(1, "memory", "MB", Target(at_most=MEMORY[count])),
        ),
    )


SCENARIOS = (
    *(at_a_time(count) for count in MEMORY),
    Scenario(
        name="batch-linear",
        about="1,000 tasks, 8 at a time; the floor is 100",
        measured=Command(words=python("batch.running", 1_000, 0, 8)),
        floor=Command(words=python("batch.running", 100, 0, 8)),
        metrics=(figure(0, "cpu per task", "ms", Target(times_floor=LINEAR)),),
    ),
    Scenario(
        name="batch-workers",
        about="1,000 tasks in two worker processes; the floor is one",
        measured=Command(words=python("batch.running", 1_000, 2, 8)),
        floor=Command(words=python("batch.running", 1_000, 1, 8)),
        metrics=(figure(2, "tasks per second", "1/s"),),
    ),
    Scenario(
        name="batch-ray",
        about="1,000 tasks on a Ray of this machine; the floor is two worker processes",
        measured=Command(words=python("batch.running", 1_000, 2, 8, "ray")),
        floor=Command(words=python("batch.running", 1_000, 2, 8)),
        metrics=(figure(2, "tasks per second", "1/s"),),
        needs="ray",
    ),
)
