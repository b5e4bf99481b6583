from __future__ import annotations

import pytest

from tests.sampling import sampled
from tests.tui.stress.operations import Operation
from tests.tui.stress.shrink import Failure, failure_of, shrunk
from tests.tui.stress.trial import SHAPES, Trial

SEEDS = 240


@pytest.mark.slow
@pytest.mark.behaviour("scrollback-is-never-erased", "committed-rows-are-final")
@pytest.mark.parametrize("first", sampled(range(0, SEEDS, 10), 2))
def test_random_operations_keep_every_row_once_and_in_order(first: int) -> None:
    failures = [failure for seed in range(first, first + 10) if (failure := failure_of(seed))]

    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_streaming_and_scrolling_work_on_each_shape_of_terminal(shape: object) -> None:
    number = SHAPES.index(shape)

    Trial(number, SHAPES[number]).run(
        [Operation("stream", 11), Operation("scroll", 40), Operation("finish", 0)] * 5
    )


def test_a_failing_sequence_is_shrunk_to_the_failing_operation() -> None:
    broken = [
        Operation("append", 3),
        Operation("tick", 1),
        Operation("no such thing", 0),
        Operation("stream", 5),
    ]

    found = shrunk(Failure(0, SHAPES[0], broken, "?"))

    assert found.operations == [Operation("no such thing", 0)]
    assert "seed 0" in str(found)
