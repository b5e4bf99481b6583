from __future__ import annotations

from pi.modes.interactive.quit_keys import TWICE_SECONDS, DoublePressDetector
from pi.testing import FakeClock


async def test_two_presses_in_time_are_one_double_press() -> None:
    clock = FakeClock()
    presses = DoublePressDetector(clock)

    first = presses.is_second()
    await clock.advance(TWICE_SECONDS)
    others = [presses.is_second(), presses.is_second()]

    assert (first, others) == (False, [True, False])


async def test_a_late_press_counts_as_a_first_press() -> None:
    clock = FakeClock()
    presses = DoublePressDetector(clock)

    presses.is_second()
    await clock.advance(TWICE_SECONDS + 0.1)
    late = presses.is_second()

    assert (late, presses.is_second()) == (False, True)
