"""What sessions cost: opening a file, appending to it, building what the model is shown.

The programs tell the CPU time of what they measure; making the file is not part of it.
"""

from __future__ import annotations

from bench.scenario import Command, Metric, Observation, Scenario, Target

SMALL, LARGE = 5_000, 50_000
LINEAR = 12.0
"""How much more ten times as many entries may cost."""


def program(name: str, *words: int) -> tuple[str, ...]:
    """The command line of a program in ``bench/programs/session``."""
    return (".venv/bin/python", "-m", f"bench.programs.session.{name}", *map(str, words))


def told_ms(seen: Observation) -> float:
    """The CPU time that the program prints."""
    return float(seen.run.output.split()[0])


def told_memory(seen: Observation) -> float:
    """The memory that the program prints, in sizes of the file."""
    return float(seen.run.output.split()[1])


def opening(name: str, entries: int) -> Scenario:
    """Opening a file of that many entries."""
    return Scenario(
        name=name,
        about=f"open a session of {entries:,} entries of 1 KB; the floor is json.loads per line",
        measured=Command(words=program("opening", entries)),
        floor=Command(words=program("bare_opening", entries)),
        metrics=(
            Metric(name="cpu", unit="ms", read=told_ms, target=Target(times_floor=1 / 3)),
            Metric(name="memory / file", unit="x", read=told_memory, target=Target(at_most=3)),
        ),
    )


def linear(name: str, doing: str, worker: str) -> Scenario:
    """The same work on ten times as much."""
    return Scenario(
        name=name,
        about=f"{doing} of {LARGE:,} entries; the floor is the same of {SMALL:,}",
        measured=Command(words=program(worker, LARGE)),
        floor=Command(words=program(worker, SMALL)),
        metrics=(Metric(name="cpu", unit="ms", read=told_ms, target=Target(times_floor=LINEAR)),),
    )


SCENARIOS = (
    opening("session-open-5k", SMALL),
    opening("session-open50k", LARGE),
    linear("session-linear", "open a session", "opening"),
    linear("session-context", "build the context", "context"),
    Scenario(
        name="session-append",
        about="append 1,000 messages and ask for the context after each; the floor only writes",
        measured=Command(words=program("appending", 0)),
        floor=Command(words=program("bare_appending")),
        metrics=(Metric(name="cpu per 1,000", unit="ms", read=told_ms),),
    ),
    Scenario(
        name="session-long",
        about=f"the same on a session of {LARGE:,} entries; the floor is one of {SMALL:,}",
        measured=Command(words=program("appending", LARGE)),
        floor=Command(words=program("appending", SMALL)),
        metrics=(
            Metric(name="cpu per 1,000", unit="ms", read=told_ms, target=Target(times_floor=1.5)),
        ),
    ),
)
