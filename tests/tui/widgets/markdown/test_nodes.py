from __future__ import annotations

from pi.tui.widgets.markdown.nodes import CodeBlock, Plain


def test_nodes_are_values() -> None:
    assert Plain(text="a") == Plain(text="a") != Plain(text="b")


def test_code_is_whole_unless_it_says_otherwise() -> None:
    block = CodeBlock(language="py", text="x")

    assert (block.has_start, block.has_end) == (True, True)
