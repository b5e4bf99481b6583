from __future__ import annotations

import pytest

from pi.tui.transcript import Transcript
from tests.tui.parts import Live, Rows


class Block(Rows):
    def __init__(self, *rows: str, is_final: bool = False) -> None:
        super().__init__(*rows)
        self.is_final = is_final


def make(*blocks: Rows) -> Transcript:
    transcript = Transcript()
    for block in blocks:
        transcript.add_child(block)
    return transcript


def test_final_blocks_are_drawn_once() -> None:
    block = Rows("a")
    transcript = make(block, Block("b"))

    rows = [transcript.render(10) for _ in range(3)]

    assert (rows[0], rows[0] is rows[2], block.drawn) == (["a", "b"], True, 1)


@pytest.mark.behaviour("committed-rows-are-final")
def test_a_final_block_cannot_change_any_more() -> None:
    block = Rows("a")
    transcript = make(block)
    transcript.render(10)

    block.rows = ["changed"]

    assert transcript.render(10) == ["a"]


@pytest.mark.behaviour("topmost-open-block-limits")
def test_the_first_block_that_is_not_final_is_the_boundary() -> None:
    live = Block("b", "c")
    transcript = make(Rows("a"), live, Rows("d"), Block("e"))

    transcript.render(10)
    assert (transcript.live_region_start, transcript.commit_safe_end) == (1, 2)
    live.is_final = True
    transcript.render(10)
    assert (transcript.live_region_start, transcript.commit_safe_end) == (4, 4)


def test_a_block_can_report_its_stable_rows() -> None:
    class Knowing(Block):
        commit_safe_end = 3

    transcript = make(Rows("a"), Knowing("b", "c", "d", "e"))
    transcript.render(10)

    assert transcript.commit_safe_end == 4


def test_a_block_with_a_live_region_is_not_final() -> None:
    live = Live("b", "c", "d", start=1)
    transcript = make(Rows("a"), live)

    transcript.render(10)
    assert (transcript.live_region_start, transcript.commit_safe_end) == (1, 3)
    live.live_region_start = None
    transcript.render(10)
    assert (transcript.live_region_start, transcript.commit_safe_end) == (None, None)


def test_there_is_no_boundary_when_all_blocks_are_final() -> None:
    transcript = make(Rows("a"))
    transcript.render(10)

    assert (transcript.live_region_start, transcript.commit_safe_end) == (None, None)


@pytest.mark.behaviour("toggles-redraw-everything")
def test_invalidating_redraws_old_and_new_blocks() -> None:
    old, new = Rows("a"), Block("b")
    transcript = make(old, new)
    transcript.render(10)

    old.rows, new.rows = ["A"], ["B"]
    transcript.invalidate()

    assert (transcript.render(10), old.forgotten, new.forgotten) == (["A", "B"], 1, 1)


def test_another_width_draws_all_blocks() -> None:
    block = Rows("a")
    transcript = make(block)

    transcript.render(10)
    transcript.render(11)

    assert block.drawn == 2


def test_blocks_can_be_removed() -> None:
    first, second, live = Rows("a"), Rows("b"), Block("c")
    transcript = make(first, second, live)
    transcript.render(10)

    transcript.remove_child(first)
    assert transcript.render(10) == ["b", "c"]
    transcript.remove_child(live)
    assert (transcript.render(10), transcript.children) == (["b"], ())
    transcript.clear()
    assert transcript.render(10) == []
