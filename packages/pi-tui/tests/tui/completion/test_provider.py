from __future__ import annotations

from pi.tui.completion.provider import Completed, replace_prefix


def test_only_the_prefix_before_the_cursor_is_replaced() -> None:
    done = replace_prefix(["a", "see @x, @x", "b"], 1, 6, "@x", "@file ")

    assert done == Completed(lines=("a", "see @file , @x", "b"), row=1, col=10)
