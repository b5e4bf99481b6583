"""What the interactive mode costs in a real terminal: starting, waiting, answering, remembering."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python


def program(name: str, *arguments: str) -> Command:
    """A program in ``bench/programs/interactive``."""
    return Command(words=python(f"interactive.{name}", *arguments))


def at_most(limit: float | None) -> Target | None:
    """A target, if there is a limit."""
    return None if limit is None else Target(at_most=limit)


def answer(
    name: str, script: str, about: str, *, cpu: float | None = None, written: float | None = None
) -> Scenario:
    """What an answer costs on the screen; at most so many milliseconds and kilobytes."""
    return Scenario(
        name=name,
        about=f"an answer of {about}; the floor writes the deltas as they are",
        measured=program("answering", "{port}", script),
        floor=program("answering", "plain", script),
        metrics=(
            figure(0, "cpu", "ms", at_most(cpu)),
            figure(1, "written", "kB", at_most(written)),
            figure(2, "per character", "B"),
        ),
    )


SCENARIOS = (
    Scenario(
        name="screen-start",
        about="from the second start to the first frame, to the first key on it, and to the model; "
        "the floor is a Python that writes a line and a key",
        measured=program("starting", "{port}"),
        floor=program("starting", "bare"),
        metrics=(
            figure(0, "first frame", "ms", Target(above_floor=150)),
            figure(1, "first key", "ms", Target(above_floor=180)),
            figure(2, "cpu, first frame", "ms", Target(at_most=110)),
            figure(3, "model ÷ first frame", "×", Target(at_most=1.4)),
            figure(4, "open ÷ first frame", "×"),
        ),
    ),
    Scenario(
        name="screen-idle",
        about="CPU over 10 s in which nothing happens; the floor is cat",
        measured=program("idling", "quiet"),
        floor=program("idling", "cat"),
        metrics=(figure(0, "cpu", "%", Target(at_most=0.5)),),
    ),
    Scenario(
        name="screen-spinner",
        about="the same while a model is waited for; the floor is nothing to wait for",
        measured=program("idling", "spinner"),
        floor=program("idling", "quiet"),
        metrics=(figure(0, "cpu", "%", Target(at_most=2)),),
    ),
    Scenario(
        name="screen-key",
        about="from a key to its echo; the floor is a Python that echoes what it reads",
        measured=program("typing", "{port}"),
        floor=program("typing", "bare"),
        metrics=(figure(0, "median", "ms", Target(at_most=1.0)),),
    ),
    answer("screen-answer", "5000@1000", "5,000 deltas, 1,000 a second"),
    answer("screen-burst", "5000", "5,000 deltas at once", cpu=500, written=34),
    answer("screen-slow", "500@100", "500 deltas, 100 a second", cpu=800, written=59),
    Scenario(
        name="screen-memory",
        about="memory of an idle screen; the floor is a Python with an event loop",
        measured=program("remembering", "idle", "{port}"),
        floor=program("remembering", "bare", "{port}"),
        metrics=(figure(0, "resident", "MB", Target(at_most=65)),),
    ),
    Scenario(
        name="screen-resumed",
        about="memory after a session of 10,000 messages was resumed; the floor is an idle screen",
        measured=program("remembering", "resumed", "{port}"),
        floor=program("remembering", "idle", "{port}"),
        metrics=(figure(0, "resident", "MB"),),
    ),
)
