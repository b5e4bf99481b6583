from __future__ import annotations

from pi.modes.interactive.transcript.block import Block, clip_rows, hanging, more_rows
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.transcript.looks import look


class Rows(Block):
    rows: list[str]

    def draw(self, width: int) -> list[str]:
        return list(self.rows)


def test_rows_are_drawn_again_only_when_something_changed() -> None:
    block = Rows(look())
    block.rows = ["one"]
    first = block.render(10)

    block.rows = ["two"]
    assert block.render(10) is first
    block.invalidate()
    assert block.render(10) == ["", "two"]


def test_a_block_without_rows_takes_no_space() -> None:
    block = Rows(look())
    block.rows = []

    assert block.render(10) == []


def test_folded_rows_are_counted_with_the_key_that_unfolds_them() -> None:
    assert strip_sequences(more_rows(3, look())) == "… 3 more lines (ctrl+o to expand)"
    assert clip_rows(["abcdef"], 4) == ["abc…"]


def test_wrapped_rows_of_a_title_are_indented() -> None:
    assert hanging("one two three", 9) == ["one two", "  three"]
    assert hanging("one two 3", 9) == ["one two 3"]
