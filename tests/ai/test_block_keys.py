from __future__ import annotations

from pi.ai.block_keys import BlockKeys


def test_a_block_keeps_its_key_until_it_ends() -> None:
    keys = BlockKeys()
    first, other = keys.key("text", 0), keys.key("text", 1)

    assert keys.key("text", 0) == first

    keys.end(0)
    assert keys.key("text", 0) not in (first, other)
    assert keys.key("text", 1) == other


def test_blocks_of_different_kinds_and_without_a_number_are_told_apart() -> None:
    keys = BlockKeys()

    assert len({keys.key("text", 0), keys.key("thinking", 0), keys.key("text", None)}) == 3
