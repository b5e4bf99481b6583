from __future__ import annotations

import pytest

from pi.ai.messages import Cost, Usage
from pi.base.records import replace
from pi.coding.export.transcript import Spent, Totals, dollars, model_name, sum_usage
from tests.coding.export.sessions import ONE_REQUEST, came, message, sample


def times(count: int) -> Usage:
    return Usage(
        input=60 * count,
        output=20 * count,
        cache_read=40 * count,
        total_tokens=120 * count,
        cost=Cost(
            input=0.5 * count, output=0.25 * count, cache_read=0.25 * count, total=1.0 * count
        ),
    )


def test_usage_of_all_branches_and_of_compacted_entries_is_summed() -> None:
    totals = sum_usage(sample())

    assert totals == Totals(
        rows=(
            Spent(what="mock/mock-r", requests=6, usage=times(6)),
            Spent(what="compaction", requests=1, usage=times(1)),
            Spent(what="mock/mock-r (cache_warm)", requests=1, usage=times(1)),
            Spent(what="branch summaries", requests=1, usage=times(1)),
        )
    )
    assert totals.all == Spent(what="", requests=9, usage=times(9))


def test_usage_of_a_tool_is_listed_under_its_name() -> None:
    result = replace(came("c1", "oracle", "42"), usage=ONE_REQUEST)

    assert sum_usage([message(result)]).rows == (
        Spent(what="tool oracle", requests=1, usage=ONE_REQUEST),
    )


def test_a_session_without_requests_has_cost_nothing() -> None:
    assert sum_usage([]).all == Spent(what="", requests=0, usage=Usage())


@pytest.mark.parametrize(
    ("total", "expected"),
    [(0, "$0.0000"), (0.000104, "$0.0001"), (1, "$1.00"), (1234.5, "$1,234.50")],
)
def test_small_sums_have_more_digits(total: float, expected: str) -> None:
    assert dollars(Spent(what="", requests=1, usage=Usage(cost=Cost(total=total)))) == expected


def test_the_name_of_a_model_falls_back_to_its_known_parts() -> None:
    assert [model_name("p", "m"), model_name("", "m"), model_name("", "")] == [
        "p/m",
        "m",
        "unknown model",
    ]
