"""Scenarios: a command, its floor, and the figures to compare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench.exchanges import Exchange
from bench.measure import CannotMeasure, Run
from pi.base.records import Record


class Observation(Record):
    """One run of a command and what the mock server saw of it."""

    run: Run
    exchanges: tuple[Exchange, ...] = ()


class Command(Record):
    """A program to measure, started in the root of the checkout.

    ``{port}`` in an argument stands for the mock server's port.
    """

    words: tuple[str, ...]
    without: tuple[str, ...] = ()
    """A command whose figures are subtracted: the same program with less to do."""

    def __str__(self) -> str:
        return " ".join(self.words)


class Target(Record):
    """The limits of a figure; all that are set must hold."""

    at_most: float | None = None
    """In the figure's own unit."""
    times_floor: float | None = None
    above_floor: float | None = None
    """In the figure's own unit."""


class Metric(Record):
    """A figure that is read from each observation."""

    name: str
    unit: str
    read: Callable[[Observation], float]
    per: float = 1
    """The divisor of the figure, e.g. 20 for "per 1,000" of 20,000."""
    target: Target | None = None


class Scenario(Record):
    """One thing worth measuring."""

    name: str
    about: str
    measured: Command
    floor: Command
    metrics: tuple[Metric, ...]
    needs: str = ""
    """A package that is not among the dependencies; the scenario is skipped without it."""


def python(module: str, *arguments: object) -> tuple[str, ...]:
    """The command line of a module of ``bench.programs``."""
    return (".venv/bin/python", "-m", f"bench.programs.{module}", *map(str, arguments))


def printed(seen: Observation, place: int = 0) -> float:
    """The number at index ``place`` in the output of the program."""
    return float(seen.run.output.split()[place])


def figure(place: int, name: str, unit: str, target: Target | None = None) -> Metric:
    """The figure that the program prints at that place."""
    return Metric(name=name, unit=unit, read=partial(printed, place=place), target=target)


def cpu_ms(seen: Observation) -> float:
    """CPU time of the process tree."""
    return seen.run.cpu * 1e3


def wall_ms(seen: Observation) -> float:
    """Time from start to exit."""
    return seen.run.wall * 1e3


def peak_mb(seen: Observation) -> float:
    """Peak memory in millions of bytes."""
    return seen.run.peak_memory / 1e6


def request_ms(seen: Observation) -> float:
    """Time from the program's start until the server had read its first request."""
    if not seen.exchanges:
        raise CannotMeasure("the program sent no request")
    return (seen.exchanges[0].body_ns - seen.run.started_ns) / 1e6


def exit_ms(seen: Observation) -> float:
    """Time from the last byte of the last answer to the program's exit."""
    last_byte_ns = seen.exchanges[-1].last_byte_ns if seen.exchanges else None
    if last_byte_ns is None:
        raise CannotMeasure("the program did not read an answer to its end")
    return (seen.run.started_ns - last_byte_ns) / 1e6 + seen.run.wall * 1e3
