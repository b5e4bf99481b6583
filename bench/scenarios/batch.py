"""What a batch costs beside the same sessions without one, and how it grows.

Sessions and results are stored; tasks have empty folders. ``batch-N`` has N sessions at a time in
one process, so that CPU and memory are those of that process. ``batch-ray-N`` has them in two
actors of a Ray that was started before; where Ray is missing they are skipped.
"""

from __future__ import annotations

from bench.scenario import (
    Command,
    Metric,
    Observation,
    Scenario,
    Target,
    figure,
    printed,
    python,
)

LINEAR = 1.3
"""How much more a task may cost if there are ten times as many."""
MEMORY = {1: 80, 10: 80, 100: 100, 1_000: 300}
"""MB."""
RAY_ACTOR = 100
"""MB that an actor of Ray has more than a process without it."""


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


def on_ray(count: int) -> Scenario:
    """That many sessions at a time on Ray; the figures contain the start of two actors."""
    return Scenario(
        name=f"batch-ray-{count}",
        about=f"{count:,} sessions at a time on Ray, in two actors; the floor has no batch",
        measured=Command(words=python("batch.on_ray", count)),
        floor=Command(words=python("batch.bare", count, count)),
        metrics=(
            figure(0, "cpu per task", "ms"),
            figure(1, "memory", "MB", Target(at_most=MEMORY[count] + RAY_ACTOR)),
        ),
        needs="ray",
    )


def _ray_cpu_seconds(seen: Observation) -> float:
    """CPU time of all tasks of a program ``on_ray``, which prints that of one."""
    return printed(seen) * float(seen.run.output.split()[5]) / 1e3


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
    *(on_ray(count) for count in MEMORY),
    Scenario(
        name="batch-ray-cost",
        about="1,000 tasks on Ray without the start of its actors; the floor is 100",
        measured=Command(words=python("batch.on_ray", 1_000), without=python("batch.on_ray", 1)),
        floor=Command(words=python("batch.on_ray", 100), without=python("batch.on_ray", 1)),
        metrics=(
            Metric(name="cpu", unit="s", read=_ray_cpu_seconds, target=Target(times_floor=13.0)),
        ),
        needs="ray",
    ),
)
