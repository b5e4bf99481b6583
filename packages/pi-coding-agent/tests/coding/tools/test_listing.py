from __future__ import annotations

from msgspec import UNSET

from pi.agent.tools.tool import ToolResult
from pi.ai.messages import Text
from pi.coding.tools.listing import LimitNotice, limit_notice, limit_or_default, list_result


def test_lines_that_fit_need_no_notice() -> None:
    assert list_result(["a", "b"], None) == ToolResult.of("a\nb")


def test_all_notices_stand_in_one_bracket() -> None:
    result = list_result(["a"], LimitNotice("x", 1, "one"), None, LimitNotice("y", True, "two"))

    assert result == ToolResult.of("a\n\n[one. two]", details={"x": 1, "y": True})


def test_a_list_that_is_too_long_is_cut_between_lines() -> None:
    texts = []
    for lines in (["x" * 1000] * 100, ["x"] * 3000):
        [block] = list_result(lines).content
        assert isinstance(block, Text)
        texts.append(block.text)

    assert texts == [
        "\n".join(["x" * 1000] * 51) + "\n\n[50.0KB limit reached]",
        "\n".join(["x"] * 2000) + "\n\n[2000 lines limit reached]",
    ]


def test_limits_are_whole_and_positive() -> None:
    assert [limit_or_default(limit, 7) for limit in (UNSET, 3.0, 0.0, -5.0)] == [7, 3, 1, 1]


def test_a_notice_names_a_higher_limit() -> None:
    names = ("entry", "entries")

    assert limit_notice(2, 2, names) is None
    assert limit_notice(2, 3, names, ", or less") == LimitNotice(
        "entryLimitReached", 2, "2 entries limit reached. Use limit=4 for more, or less"
    )
