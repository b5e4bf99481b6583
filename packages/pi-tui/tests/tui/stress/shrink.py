"""Runs seeds and shrinks a failing sequence of operations."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.tui.stress.operations import Operation, random_operations
from tests.tui.stress.trial import SHAPES, Shape, Trial, Violation

OPERATIONS = 60


class Failure(NamedTuple):
    """The shortest sequence found that breaks the contract."""

    seed: int
    shape: Shape
    operations: list[Operation]
    message: str

    def __str__(self) -> str:
        steps = "\n".join(f"    {operation}," for operation in self.operations)
        return f"seed {self.seed} on {self.shape}:\n[\n{steps}\n]\n{self.message}"


def failure_of(seed: int) -> Failure | None:
    """Returns the shrunk failure of a seed; None if it passes."""
    shape = SHAPES[seed % len(SHAPES)]
    operations = random_operations(Random(seed), OPERATIONS)
    message = _broken(seed, shape, operations)
    if not message:
        return None
    return shrunk(Failure(seed, shape, operations, message))


def shrunk(failure: Failure) -> Failure:
    """Removes operations, in ever smaller pieces, as long as the sequence still fails."""
    operations, message = failure.operations, failure.message
    size = len(operations)
    while size > 0:
        start = 0
        while start < len(operations):
            fewer = operations[:start] + operations[start + size :]
            if still := _broken(failure.seed, failure.shape, fewer):
                operations, message = fewer, still
            else:
                start += size
        size //= 2
    return failure._replace(operations=operations, message=message)


def _broken(seed: int, shape: Shape, operations: list[Operation]) -> str:
    """Returns why the sequence fails, including any exception; empty if it passes."""
    try:
        Trial(seed, shape).run(operations)
    except Violation as violation:
        return str(violation)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
