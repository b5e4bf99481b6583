from __future__ import annotations

from msgspec import UNSET

from pi.agent.tools.tool import ToolResult
from pi.ai.messages import Text
from pi.coding.tools.listing import Limited, at_least_one, listing, more_than


def test_lines_that_fit_need_no_notice() -> None:
    assert listing(["a", "b"], None) == ToolResult.of("a\nb")


def test_all_notices_stand_in_one_bracket() -> None:
    result = listing(["a"], Limited("x", 1, "one"), None, Limited("y", True, "two"))

    assert result == ToolResult.of("a\n\n[one. two]", details={"x": 1, "y": True})


def test_a_list_that_is_too_long_is_cut_between_lines() -> None:
    texts = []
    for lines in (["x" * 1000] * 100, ["x"] * 3000):
        [block] = listing(lines).content
        assert isinstance(block, Text)
        texts.append(block.text)

    assert texts == [
        "\n".join(["x" * 1000] * 51) + "\n\n[50.0KB limit reached]",
        "\n".join(["x"] * 2000) + "\n\n[2000 lines limit reached]",
    ]


def test_limits_are_whole_and_positive() -> None:
    assert [at_least_one(given, 7) for given in (UNSET, 3.0, 0.0, -5.0)] == [7, 3, 1, 1]


def test_more_than_is_shown_is_told_with_the_limit_that_shows_it() -> None:
    names = ("entry", "entries")

    assert more_than(2, 2, names) is None
    assert more_than(2, 3, names, ", or less") == Limited(
        "entryLimitReached", 2, "2 entries limit reached. Use limit=4 for more, or less"
    )
