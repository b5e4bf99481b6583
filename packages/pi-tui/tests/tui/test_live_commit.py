from __future__ import annotations

import pytest

from pi.tui.transcript import REARM_FRAMES, STABLE_FRAMES, EarlyCommit
from tests.tui.parts import numbered


def test_all_rows_but_the_last_of_a_growing_block_are_settled() -> None:
    commit = EarlyCommit()

    assert [commit.observe(numbered(count)) for count in (1, 2, 5)] == [0, 1, 4]
    assert commit.observe([*numbered(4), "row 4 and more", "row 5"]) == 5


def test_a_rewritten_row_delays_the_early_commit() -> None:
    commit = EarlyCommit()
    commit.observe(numbered(10))

    assert commit.observe(["changed", *numbered(9)]) == 0
    for count in range(11, 11 + REARM_FRAMES):
        settled = commit.observe(["changed", *numbered(count)])
    assert settled == count


def ticking(head: int, number: int) -> list[str]:
    return [*numbered(head), f"tick {number}", "tail"]


@pytest.mark.behaviour("committed-rows-are-final")
def test_rows_above_a_ticking_one_settle_after_many_frames() -> None:
    commit = EarlyCommit()

    settled = [commit.observe(ticking(20, number)) for number in range(2 * STABLE_FRAMES)]

    assert (settled[2], settled[-1]) == (0, 20)


def test_a_slowly_changing_row_is_not_settled() -> None:
    commit = EarlyCommit()
    for number in range(10 * STABLE_FRAMES):
        rows = ticking(5, number // (2 * STABLE_FRAMES))
        rows.append(f"fast {number}")
        rows.append("end")
        settled = commit.observe(rows)

    assert settled == 5


def test_a_change_of_style_does_not_delay_the_early_commit() -> None:
    commit = EarlyCommit()
    commit.observe(numbered(10))

    assert commit.observe([f"\x1b[31m{row}\x1b[0m" for row in numbered(10)]) == 9
