"""Which tool results the model need not be shown any more."""

from __future__ import annotations

from typing import Any

import pytest

from pi.agent.compaction.budget import CompactionItem
from pi.ai.messages import AssistantMessage, Text, ToolCall, ToolResultMessage
from pi.base.records import replace
from pi.coding.compaction.pruning import (
    SUPERSEDED_NOTICE,
    USELESS_NOTICE,
    Pruning,
    elide_worthless,
    prune_tool_outputs,
)


def exchange(
    id: str,
    tokens: int,
    *,
    tool: str = "bash",
    useless: bool = False,
    error: bool = False,
    **args: Any,
) -> list[CompactionItem]:
    """A call and a result of about that many tokens."""
    call = AssistantMessage(content=(ToolCall(id=id, name=tool, arguments=args),))
    tool_result = ToolResultMessage(
        tool_call_id=id,
        tool_name=tool,
        content=(Text(text="x" * 4 * tokens),),
        is_error=error,
    )
    return [
        CompactionItem.of(f"{id}-call", call),
        replace(CompactionItem.of(id, tool_result), useless=useless),
    ]


def branch(*exchanges: list[CompactionItem]) -> list[CompactionItem]:
    return [item for items in exchanges for item in items]


def notices(pruning: Pruning) -> dict[str, str]:
    return {
        edit.target_id: edit.replacement["content"][0]["text"]
        for edit in pruning.edits
        if edit.replacement is not None
    }


def test_old_output_beyond_the_newest_is_replaced_by_its_size() -> None:
    items = branch(exchange("old", 25_000), exchange("new", 41_000))

    assert notices(prune_tool_outputs(items)) == {"old": "[Output truncated - 25000 tokens]"}


def test_a_small_saving_prunes_nothing() -> None:
    items = branch(exchange("old", 19_000), exchange("new", 41_000))

    assert prune_tool_outputs(items) == Pruning()


def test_the_newest_output_is_protected() -> None:
    assert prune_tool_outputs(branch(exchange("a", 20_000), exchange("b", 19_000))) == Pruning()


@pytest.mark.parametrize(
    ("tool", "args"), [("skill", {}), ("read", {"path": "skill://review/SKILL.md"})]
)
def test_instructions_of_a_skill_are_never_pruned(tool: str, args: dict[str, Any]) -> None:
    items = branch(exchange("old", 50_000, tool=tool, **args), exchange("new", 41_000))

    assert prune_tool_outputs(items) == Pruning()


def test_useless_results_are_pruned_also_when_they_are_recent() -> None:
    items = branch(exchange("new", 21_000, useless=True))

    assert notices(prune_tool_outputs(items)) == {"new": USELESS_NOTICE}


@pytest.mark.behaviour("file-lists-are-deduplicated")
def test_a_result_smaller_than_its_notice_is_kept() -> None:
    items = branch(exchange("tiny", 2, useless=True))

    assert elide_worthless(items, cache_is_cold=True) == Pruning()


def test_a_read_is_superseded_by_a_later_one_of_the_same_part() -> None:
    items = branch(
        exchange("one", 100, tool="read", path="a.py"),
        exchange("part", 100, tool="read", path="a.py", offset=3),
        exchange("failed", 100, tool="read", path="a.py", error=True),
        exchange("two", 100, tool="read", path="a.py"),
    )

    assert notices(elide_worthless(items, cache_is_cold=True)) == {"one": SUPERSEDED_NOTICE}


def test_an_error_is_never_elided_as_useless() -> None:
    items = branch(exchange("bad", 100, useless=True, error=True))

    assert elide_worthless(items, cache_is_cold=True) == Pruning()


def test_with_a_warm_cache_only_results_near_the_end_are_elided() -> None:
    items = branch(
        exchange("far", 100, useless=True),
        exchange("big", 8_500),
        exchange("near", 100, useless=True),
    )

    assert set(notices(elide_worthless(items, cache_is_cold=False))) == {"near"}
    assert set(notices(elide_worthless(items, cache_is_cold=True))) == {"far", "near"}
