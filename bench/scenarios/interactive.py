"""What the interactive mode costs in a real terminal: starting, waiting, answering, remembering."""

from __future__ import annotations

from bench.scenario import Command, Metric, Observation, Scenario, Target


def program(name: str, *arguments: str) -> Command:
    """A program in ``bench/programs/interactive``."""
    words = (".venv/bin/python", "-m", f"bench.programs.interactive.{name}", *arguments)
    return Command(words=words)


def first(seen: Observation) -> float:
    """The figure that the program prints."""
    return float(seen.run.output.split()[0])


def second(seen: Observation) -> float:
    """The other figure that it prints."""
    return float(seen.run.output.split()[1])


def third(seen: Observation) -> float:
    """What it prints behind these."""
    return float(seen.run.output.split()[2])


def answer(
    name: str, script: str, about: str, *, cpu: Target | None = None, written: Target | None = None
) -> Scenario:
    """What an answer costs on the screen."""
    return Scenario(
        name=name,
        about=f"an answer of {about}; the floor writes the deltas as they are",
        measured=program("answering", "{port}", script),
        floor=program("answering", "plain", script),
        metrics=(
            Metric(name="cpu", unit="ms", read=first, target=cpu),
            Metric(name="written", unit="kB", read=second, target=written),
            Metric(name="per character", unit="B", read=third),
        ),
    )


SCENARIOS = (
    Scenario(
        name="screen-start",
        about="from the start to the first frame, and to the first key on it; "
        "the floor is a Python that writes a line and a key",
        measured=program("starting", "{port}"),
        floor=program("starting", "bare"),
        metrics=(
            Metric(name="first frame", unit="ms", read=first, target=Target(above_floor=150)),
            Metric(name="first key", unit="ms", read=second, target=Target(above_floor=180)),
            Metric(name="cpu, first frame", unit="ms", read=third, target=Target(at_most=110)),
        ),
    ),
    Scenario(
        name="screen-idle",
        about="CPU over 10 s in which nothing happens; the floor is cat",
        measured=program("idling", "quiet"),
        floor=program("idling", "cat"),
        metrics=(Metric(name="cpu", unit="%", read=first, target=Target(at_most=0.5)),),
    ),
    Scenario(
        name="screen-spinner",
        about="the same while a model is waited for; the floor is nothing to wait for",
        measured=program("idling", "spinner"),
        floor=program("idling", "quiet"),
        metrics=(Metric(name="cpu", unit="%", read=first, target=Target(at_most=2)),),
    ),
    Scenario(
        name="screen-key",
        about="from a key to its echo; the floor is a Python that echoes what it reads",
        measured=program("typing", "{port}"),
        floor=program("typing", "bare"),
        metrics=(Metric(name="median", unit="ms", read=first, target=Target(at_most=0.8)),),
    ),
    answer("screen-answer", "5000@1000", "5,000 deltas, 1,000 a second"),
    answer(
        "screen-burst",
        "5000",
        "5,000 deltas at once",
        cpu=Target(at_most=500),
        written=Target(at_most=34),
    ),
    answer(
        "screen-slow",
        "500@100",
        "500 deltas, 100 a second",
        cpu=Target(at_most=800),
        written=Target(at_most=59),
    ),
    Scenario(
        name="screen-memory",
        about="memory of an idle screen; the floor is a Python with an event loop",
        measured=program("remembering", "idle", "{port}"),
        floor=program("remembering", "bare", "{port}"),
        metrics=(Metric(name="resident", unit="MB", read=first, target=Target(at_most=65)),),
    ),
    Scenario(
        name="screen-resumed",
        about="memory after a session of 10,000 messages was resumed; the floor is an idle screen",
        measured=program("remembering", "resumed", "{port}"),
        floor=program("remembering", "idle", "{port}"),
        metrics=(Metric(name="resident", unit="MB", read=first),),
    ),
)
