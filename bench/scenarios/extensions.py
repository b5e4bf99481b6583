"""What extensions cost: at the start, for each event, and when they are reloaded."""

from __future__ import annotations

from bench.scenario import Command, Metric, Scenario, Target, figure, printed, python

FEW, MANY = 10, 50
RELOADS = 50
FLAT = 1.05
"""How much more memory may be in use after many reloads than after a few."""


def program(name: str, *words: str | int) -> tuple[str, ...]:
    """The command line of a program in ``bench/programs/extensions``."""
    return python(f"extensions.{name}", *words)


def starting(extensions: int) -> Scenario:
    """Starting with that many extensions."""
    return Scenario(
        name=f"extensions-{extensions}",
        about=f"start with {extensions} trivial extensions; the floor only imports them",
        measured=Command(words=program("starting", extensions), without=program("starting", 0)),
        floor=Command(words=program("bare_starting", extensions)),
        metrics=(
            Metric(
                name="cpu per extension",
                unit="ms",
                read=printed,
                per=extensions,
                target=Target(at_most=1.5),
            ),
        ),
    )


def dispatching(kind: str) -> Scenario:
    """One event, and many handlers."""
    return Scenario(
        name=f"events-{kind}",
        about=f"one event for {MANY} {kind} handlers; the floor only calls them",
        measured=Command(words=program("dispatching", MANY, kind)),
        floor=Command(words=program("bare_dispatching", MANY, kind)),
        metrics=(figure(0, "cpu per event", "ms", Target(at_most=0.3)),),
    )


def waiting(kind: str, about: str, most: float | None = None) -> Scenario:
    """Starting ``pi -p`` with batteries; the difference to a start with none."""
    return Scenario(
        name=f"start-{kind}",
        about=f"pi -p with {about}, beside a start with none; the floor is none beside none",
        measured=Command(words=program("triggers", kind, "{port}")),
        floor=Command(words=program("triggers", "none", "{port}")),
        metrics=(figure(0, "cpu more", "ms", None if most is None else Target(at_most=most)),),
    )


WAITING = (
    *("command", "flag", "setting", "selected", "entry", "file", "env", "shared", "view", "mode"),
)
"""Triggers that need nothing in a session before they occur."""
STANDING_IN = ("event", "tool")
"""Triggers that need a stand-in in every session, and with it the extension host."""
OCCURRING = ("flag", "setting", "file", "env", "mode", "session")

SCENARIOS = (
    starting(FEW),
    starting(MANY),
    dispatching("sync"),
    dispatching("async"),
    Scenario(
        name="reloads",
        about=f"memory in use after {RELOADS} reloads; the floor is after a tenth of them",
        measured=Command(words=program("reloading", RELOADS)),
        floor=Command(words=program("reloading", RELOADS // 10)),
        metrics=(figure(0, "memory", "MB", Target(times_floor=FLAT)),),
    ),
    waiting("bundled", "all batteries of pi and default settings", 2.0),
    *(waiting(kind, f"20 batteries that wait for {kind}:…", 2.0) for kind in WAITING),
    *(waiting(kind, f"20 batteries that wait for {kind}:…") for kind in STANDING_IN),
    *(waiting(f"{kind}!", f"one battery whose trigger {kind} occurs") for kind in OCCURRING),
)
