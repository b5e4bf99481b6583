from __future__ import annotations

import asyncio

import pytest

from pi.agent.policy import (
    DECIDING_SECONDS,
    Abort,
    Boundary,
    Next,
    Policy,
    StopRun,
    decide,
    prepare,
)
from pi.base.records import replace
from pi.base.testing import FakeClock

TURN = Boundary(kind="turn")


class Wants(Policy):
    """Always returns the same decision and records the decisions that it got."""

    def __init__(self, decision: Next) -> None:
        self._decision = decision
        self.seen: list[Next] = []

    async def at_boundary(self, at: Boundary) -> Next:
        self.seen.append(at.next)
        return self._decision


class Stops(Policy):
    async def at_boundary(self, at: Boundary) -> Next:
        raise StopRun("enough", exit_code=3)


class Fails(Policy):
    async def at_boundary(self, at: Boundary) -> Next:
        raise KeyError("oops")


class Waits(Policy):
    async def at_boundary(self, at: Boundary) -> Next:
        await asyncio.Event().wait()
        return at.next


AGAIN, STOP = Next(action="again", new_run=True), Next(action="stop", reason="no")


async def decided(*policies: Policy, at: Boundary = TURN) -> Next:
    return await decide(policies, at, Abort(FakeClock()))


async def test_without_a_decision_of_a_policy_the_run_continues() -> None:
    assert await decided(Policy(), Policy()) == Next()
    assert await decided() == Next()


async def test_stop_overrides_again_and_again_overrides_go_on_in_any_order() -> None:
    assert await decided(Wants(AGAIN), Wants(Next())) == AGAIN
    assert await decided(Wants(Next()), Wants(AGAIN)) == AGAIN
    assert await decided(Wants(STOP), Wants(AGAIN)) == STOP
    assert await decided(Wants(AGAIN), Wants(STOP)) == STOP


async def test_each_policy_gets_the_decision_so_far_and_can_replace_an_equal_one() -> None:
    second, third = Wants(Next(action="again", reason="mine")), Wants(Next())

    assert await decided(Wants(AGAIN), second, third) == Next(action="again", reason="mine")
    assert second.seen == [AGAIN]
    assert third.seen == [Next(action="again", reason="mine")]


async def test_drafts_of_all_policies_are_kept() -> None:
    cut = replace(TURN, next=Next(action="again", entries=("cut",)))

    class Carries(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            return replace(at.next, entries=(*at.next.entries, "carried"))

    assert await decided(Wants(Next(entries=("weak",))), Carries(), at=cut) == Next(
        action="again", entries=("cut", "weak", "carried")
    )
    assert await decided(Stops(), at=cut) == Next(
        action="stop", reason="enough", exit_code=3, entries=("cut",)
    )


async def test_raising_stop_run_overrides_earlier_decisions() -> None:
    assert await decided(Wants(AGAIN), Stops()) == Next(action="stop", reason="enough", exit_code=3)


async def test_a_policy_that_fails_does_not_change_the_decision(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await decided(Wants(AGAIN), Fails()) == AGAIN
    assert "Fails failed at the turn boundary" in caplog.text


async def test_after_an_abort_a_slow_policy_times_out(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    abort = Abort(clock)
    deciding = asyncio.create_task(
        decide([Wants(Next(entries=("kept",))), Waits(), Wants(AGAIN)], TURN, abort)
    )
    await asyncio.sleep(0)

    abort.request()
    await clock.advance(DECIDING_SECONDS)

    assert await deciding == Next(entries=("kept",))
    assert "took too long" in caplog.text


# Preparing ---------------------------------------------------------------------------------------


async def test_a_decision_may_need_preparation() -> None:
    done: list[str] = []

    async def work() -> None:
        done.append("prepared")

    decision = Next(action="again", prepare=work)

    assert await prepare(decision, Abort(FakeClock())) is decision
    assert await prepare(AGAIN, Abort(FakeClock())) is AGAIN
    assert done == ["prepared"]


async def test_an_abort_ends_the_preparation() -> None:
    abort = Abort(FakeClock())

    async def forever() -> None:
        await asyncio.Event().wait()

    decision = Next(action="again", prepare=forever)
    asyncio.get_running_loop().call_soon(abort.request)

    assert await prepare(decision, abort) is decision


async def test_a_preparation_may_stop_the_run_and_may_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stops() -> None:
        raise StopRun("enough")

    async def fails() -> None:
        raise KeyError("oops")

    abort = Abort(FakeClock())
    failing = Next(action="again", prepare=fails)

    assert await prepare(Next(action="again", prepare=stops), abort) == Next(
        action="stop", reason="enough"
    )
    assert await prepare(failing, abort) is failing
    assert "preparing what comes next failed" in caplog.text
