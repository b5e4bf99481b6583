"""Runs seeds, and cuts a failing sequence of operations down to what is needed to fail."""

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
    """What breaks with this seed, made as small as possible; None if nothing does."""
    shape = SHAPES[seed % len(SHAPES)]
    operations = random_operations(Random(seed), OPERATIONS)
    message = _broken(seed, shape, operations)
    if not message:
        return None
    return shrunk(Failure(seed, shape, operations, message))


def shrunk(failure: Failure) -> Failure:
    """Leave out operations, in ever smaller pieces, as long as it still fails."""
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
    """Why the sequence fails; any exception is a failure. Empty if it does not."""
    try:
        Trial(seed, shape).run(operations)
    except Violation as violation:
        return str(violation)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
