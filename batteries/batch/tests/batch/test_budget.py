from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Hashable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi.batch.budget import GROWTH, Budget, LocalGate


class ScriptedBudget(Budget):
    """Assigns a price and a duration to each permitted call.

    ``unexpected`` is the sum of the prices that were higher than the budget assumed when it
    permitted the call, which may be some steps before the waiting task continues.
    """

    def __init__(self, limit: float, calls: list[tuple[float, int]]) -> None:
        super().__init__(limit)
        self.remaining = list(reversed(calls))
        self.permitted: defaultdict[Hashable, deque[tuple[float, int]]] = defaultdict(deque)
        self.unexpected = 0.0

    def _decide(self, worker: Hashable) -> bool | None:
        answer = super()._decide(worker)
        if answer:
            price, duration = self.remaining.pop() if self.remaining else (0.0, 1)
            if self._max_cost is not None and price > GROWTH * self._max_cost:
                self.unexpected += price
            self.permitted[worker].append((price, duration))
        return answer


async def spend(budget: ScriptedBudget, *, workers: int, per_worker: int) -> None:
    """Make the calls of the budget in ``workers`` × ``per_worker`` tasks."""

    async def work(worker: int) -> None:
        gate = LocalGate(budget, worker)
        while budget.remaining and await gate.ask():
            price, duration = budget.permitted[worker].popleft()
            for _ in range(duration):
                await asyncio.sleep(0)
            gate.settle(price)

    await asyncio.wait_for(
        asyncio.gather(*(work(worker) for worker in range(workers) for _ in range(per_worker))), 20
    )


@given(
    workers=st.integers(1, 4),
    per_worker=st.integers(1, 8),
    ratios=st.lists(
        st.tuples(st.floats(0.1, GROWTH), st.integers(1, 40)), min_size=1, max_size=120
    ),
    limit=st.floats(0.5, 40.0),
)
@example(  # two more calls are permitted before the first, which is expensive, has ended
    workers=2, per_worker=2, ratios=[(1.0, 2), (0.125, 1), (1.0, 1), (1.0, 1)], limit=1.0
)
@settings(max_examples=60, deadline=None)
def test_at_most_one_call_per_worker_exceeds_the_budget(
    workers: int, per_worker: int, ratios: list[tuple[float, int]], limit: float
) -> None:
    calls: list[tuple[float, int]] = []
    for ratio, duration in ratios:  # most prices are at most GROWTH times all earlier ones
        dearest = max((price for price, _ in calls), default=1.0)
        calls.append((min(ratio * dearest, 2.0) if calls else 1.0, duration))
    budget = ScriptedBudget(limit, calls)

    asyncio.run(spend(budget, workers=workers, per_worker=per_worker))

    prices = [price for price, _ in calls]
    assert budget.spent <= limit + workers * max(prices) + budget.unexpected
    assert budget.spent >= min(limit, sum(prices)) - 1e-9


async def test_a_failed_call_does_not_set_the_expected_price() -> None:
    budget = Budget(1.0)
    assert await budget.ask("w")
    budget.settle("w", None)
    assert await budget.ask("w")
    second = asyncio.ensure_future(budget.ask("w"))
    await asyncio.sleep(0)

    assert not second.done()

    budget.settle("w", 0.0)  # a model without a price
    assert await second


async def test_without_a_limit_every_call_is_allowed() -> None:
    budget = Budget(None)

    assert all([await budget.ask("w") for _ in range(100)])


@pytest.mark.parametrize("when", ["waiting", "granted"])
async def test_a_cancelled_request_releases_its_permission(when: str) -> None:
    budget = Budget(1.0)
    assert await budget.ask("w")
    asking = asyncio.ensure_future(budget.ask("w"))
    await asyncio.sleep(0)
    if when == "waiting":
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        budget.settle("w", 0.4)
    else:
        budget.settle("w", 0.4)
        asking.cancel()  # in the same step: the answer has not arrived
        await asyncio.gather(asking, return_exceptions=True)

    assert asking.cancelled()
    assert await asyncio.wait_for(budget.ask("w"), 1)


async def test_a_lost_worker_frees_its_calls() -> None:
    budget = Budget(1.0)
    assert await budget.ask("lost")
    assert await budget.ask("other")
    asking = asyncio.ensure_future(budget.ask("lost"))
    await asyncio.sleep(0)

    budget.drop("lost")
    await asyncio.gather(asking, return_exceptions=True)

    assert asking.cancelled()
    assert await asyncio.wait_for(budget.ask("lost"), 1)


async def test_every_cost_is_recorded() -> None:
    recorded: list[float] = []
    budget = Budget(1.0, spent=0.25, record=recorded.append)
    for cost in (0.5, None, 0.25):
        assert await budget.ask("w")
        budget.settle("w", cost)

    assert recorded == [0.75, 1.0]
    assert not await budget.ask("w")
