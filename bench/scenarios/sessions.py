"""What sessions cost: opening a file, appending to it, building what the model is shown.

The programs print the CPU time of what they measure; making the file is not part of it.
"""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

SMALL, LARGE = 5_000, 50_000
LINEAR = 12.0
"""How much more ten times as many entries may cost."""


def program(name: str, *words: int) -> tuple[str, ...]:
    """The command line of a program in ``bench/programs/session``."""
    return python(f"session.{name}", *words)


def opening(name: str, entries: int) -> Scenario:
    """Opening a file of that many entries."""
    return Scenario(
        name=name,
        about=f"open a session of {entries:,} entries of 1 KB; the floor is json.loads per line",
        measured=Command(words=program("opening", entries)),
        floor=Command(words=program("bare_opening", entries)),
        metrics=(
            figure(0, "cpu", "ms", Target(times_floor=1 / 3)),
            figure(1, "memory / file", "x", Target(at_most=3)),
        ),
    )


def linear(name: str, doing: str, worker: str) -> Scenario:
    """The same work on ten times as much."""
    return Scenario(
        name=name,
        about=f"{doing} of {LARGE:,} entries; the floor is the same of {SMALL:,}",
        measured=Command(words=program(worker, LARGE)),
        floor=Command(words=program(worker, SMALL)),
        metrics=(figure(0, "cpu", "ms", Target(times_floor=LINEAR)),),
    )


def resuming(name: str, about: str, kind: str, count: int, *, cpu: int, mb: int) -> Scenario:
    """``pi -p`` in a stored session; the floor is a new one."""
    return Scenario(
        name=name,
        about=f"{about}; the floor is a new session",
        measured=Command(words=(*program("resuming"), kind, str(count), "{port}")),
        floor=Command(words=(*program("resuming"), "new", "0", "{port}")),
        metrics=(
            figure(0, "cpu", "ms", Target(at_most=cpu)),
            figure(1, "memory", "MB", Target(at_most=mb)),
        ),
    )


def turns(name: str, about: str, *arguments: str, cpu: int) -> Scenario:
    """A turn late in a run; the floor is an early one of a short run without batteries."""
    early = ("200", "{port}", "--batteries", "none")
    return Scenario(
        name=name,
        about=f"CPU of a turn with a tool call after {TURNS:,} of them{about}; the floor has 200",
        measured=Command(words=(*python("modes.tool_turns", TURNS), "{port}", *arguments)),
        floor=Command(words=(*python("modes.tool_turns"), *early)),
        metrics=(
            figure(1, "cpu", "ms", Target(at_most=cpu)),
            figure(2, "memory", "MB"),
        ),
    )


TURNS = 1_500

SCENARIOS = (
    resuming(
        "resume-50k", "resume 50,000 messages, compacted", "compacted", 50_000, cpu=160, mb=45
    ),
    resuming(
        "resume-1m", "resume 1,000,000 messages (1 GB)", "compacted", 1_000_000, cpu=200, mb=45
    ),
    resuming(
        "resume-first", "the same 1 GB without an index", "first", 1_000_000, cpu=3_000, mb=2_000
    ),
    resuming(
        "resume-all", "resume 50,000 messages, all in context", "all", 50_000, cpu=800, mb=180
    ),
    turns("turns", "", "--batteries", "none", cpu=7),
    turns("turns-recommended", ", recommended batteries", "--batteries", "recommended", cpu=12),
    opening("session-open-5k", SMALL),
    opening("session-open50k", LARGE),
    linear("session-linear", "open a session", "opening"),
    linear("session-context", "build the context", "context"),
    Scenario(
        name="session-append",
        about="append 1,000 messages and ask for the context after each; the floor only writes",
        measured=Command(words=program("appending", 0)),
        floor=Command(words=program("bare_appending")),
        metrics=(figure(0, "cpu per 1,000", "ms"),),
    ),
    Scenario(
        name="session-long",
        about=f"the same on a session of {LARGE:,} entries; the floor is one of {SMALL:,}",
        measured=Command(words=program("appending", LARGE)),
        floor=Command(words=program("appending", SMALL)),
        metrics=(figure(0, "cpu per 1,000", "ms", Target(times_floor=1.5)),),
    ),
)
