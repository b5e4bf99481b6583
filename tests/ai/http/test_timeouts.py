from __future__ import annotations

import pytest

from pi.ai.http.request import NO_TIMEOUTS, Timeouts


@pytest.mark.behaviour("no-timeout-means-none")
@pytest.mark.parametrize("off", [None, 0, 0.0, -1])
def test_none_and_zero_and_less_mean_no_timeout(off: float | None) -> None:
    assert Timeouts(connect=off, first_byte=off, idle=off).limit("idle") is None
    assert Timeouts(connect=off).limit("connect") is None
    assert Timeouts(first_byte=off).limit("first_byte") is None


def test_each_timeout_is_its_own() -> None:
    timeouts = Timeouts(connect=1, first_byte=2.5, idle=0)

    assert timeouts.limit("connect") == 1
    assert timeouts.limit("first_byte") == 2.5
    assert timeouts.limit("idle") is None
    assert NO_TIMEOUTS.limit("first_byte") is None
