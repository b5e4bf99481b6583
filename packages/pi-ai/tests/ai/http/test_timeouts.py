from __future__ import annotations

import pytest

from pi.ai.http.request import NO_TIMEOUTS, Timeouts


@pytest.mark.behaviour("no-timeout-means-none")
@pytest.mark.parametrize("off", [None, 0, 0.0, -1])
def test_none_zero_and_negative_values_disable_a_timeout(off: float | None) -> None:
    assert Timeouts(connect=off, first_byte=off, idle=off).limit("idle") is None
    assert Timeouts(connect=off).limit("connect") is None
    assert Timeouts(first_byte=off).limit("first_byte") is None


def test_timeouts_are_independent_of_each_other() -> None:
    timeouts = Timeouts(connect=1, first_byte=2.5, idle=0)

    assert timeouts.limit("connect") == 1
    assert timeouts.limit("first_byte") == 2.5
    assert timeouts.limit("idle") is None
    assert NO_TIMEOUTS.limit("first_byte") is None
