from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.clock import SystemClock, iso_timestamp


@given(st.integers(min_value=0, max_value=4_000_000_000_000))
def test_timestamps_are_iso_8601_in_utc_with_milliseconds(now_ms: int) -> None:
    written = iso_timestamp(now_ms)

    parsed = datetime.fromisoformat(written)
    assert len(written) == len("2026-11-15T19:23:06.927Z")
    assert parsed.tzinfo == UTC
    assert round(parsed.timestamp() * 1000) == now_ms


@pytest.mark.behaviour("durations-are-monotonic")
def test_durations_come_from_a_clock_that_never_runs_backwards() -> None:
    clock = SystemClock()

    readings = [clock.monotonic() for _ in range(1000)]

    assert readings == sorted(readings)
    assert time.get_clock_info("monotonic").monotonic


async def test_a_month_long_wait_is_accepted_and_can_be_cancelled() -> None:
    task = asyncio.create_task(SystemClock().sleep(40 * 24 * 3600))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
