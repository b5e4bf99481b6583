from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.budget import CompactionItem, exchanges, tokens_of
from pi.agent.compaction.prepare import CUTS, Cut, find_cut_point
from tests.agent.compaction.conversations import (
    answer,
    call,
    conversations,
    metadata,
    result,
    shown,
    user,
)

LONG = "x" * 1092


def recorded() -> list[CompactionItem]:
    """The sizes of a recorded session that was compacted three times."""
    return [
        user("ebdb", LONG),
        answer("b9f1", LONG),
        user("e415", LONG),
        answer("da71", LONG, call("c1", "read", path="a.txt")),
        result("88e5", "c1", "alpha\nbeta\ngamma\n", tool="read"),
        answer("be5d", LONG),
        user("c3d1", LONG),
        answer("268e", LONG),
    ]


@pytest.mark.behaviour("cut-keeps-calls-and-results")
def test_the_newest_answer_is_kept_when_it_alone_is_too_large_and_its_turn_is_split() -> None:
    assert find_cut_point(recorded(), 200) == Cut(index=7, turn_start=6)


def test_as_many_messages_are_kept_as_fit() -> None:
    items = recorded()

    assert find_cut_point(items, 273) == Cut(index=7, turn_start=6)
    assert find_cut_point(items, 546) == Cut(index=6)
    assert find_cut_point(items, 819) == Cut(index=5, turn_start=2)
    assert find_cut_point(items, 1096) == Cut(index=5, turn_start=2)
    assert find_cut_point(items, 100_000) == Cut(index=0)


def test_the_cut_is_at_0_for_an_empty_conversation_or_without_a_cut_point() -> None:
    assert find_cut_point([]) == Cut(index=0)
    assert find_cut_point([metadata("1"), result("2", "lost", LONG)], 1) == Cut(index=0)


def test_an_empty_answer_is_a_valid_cut_point() -> None:
    items = [user("1", LONG), answer("2", LONG), user("3", LONG), answer("4")]

    assert find_cut_point(items, 200) == Cut(index=3, turn_start=2)


def test_a_huge_result_keeps_its_call_with_it() -> None:
    items = [user("1", "hi"), answer("2", "", call("c")), result("3", "c", LONG)]

    assert find_cut_point(items, 10) == Cut(index=1, turn_start=0)


def test_no_cut_falls_between_a_call_and_its_result_with_a_message_between_them() -> None:
    items = [
        user("1", "hi"),
        answer("2", "", call("c")),
        shown("3", "custom", "meanwhile"),
        result("4", "c", "done"),
        answer("5", "bye"),
    ]

    assert [find_cut_point(items, keep).index for keep in (1, 2, 5, 7, 8)] == [4, 4, 4, 1, 0]


def test_metadata_before_a_kept_message_is_kept_with_it() -> None:
    items = [user("1", LONG), answer("2", LONG), metadata("3"), metadata("4"), user("5", "go")]

    assert find_cut_point(items, 10) == Cut(index=2)


def test_a_turn_whose_beginning_was_compacted_earlier_is_not_split_again() -> None:
    items = [answer("1", LONG), answer("2", LONG)]

    assert find_cut_point(items, 273) == Cut(index=1)


@pytest.mark.parametrize("role", ["bashExecution", "custom", "branchSummary"])
def test_shell_commands_custom_messages_and_branch_summaries_begin_turns(role: str) -> None:
    items = [user("1", LONG), shown("2", role, "x"), answer("3", "y")]  # type: ignore[arg-type]

    assert find_cut_point(items, 2) == Cut(index=1)
    assert find_cut_point(items, 1) == Cut(index=2, turn_start=1)


@pytest.mark.behaviour("cut-keeps-calls-and-results")
@given(items=conversations(), keep=st.integers(0, 2000))
def test_a_call_and_its_result_are_always_on_the_same_side_of_the_cut(
    items: list[CompactionItem], keep: int
) -> None:
    cut = find_cut_point(items, keep)

    for exchange in exchanges(items):
        if exchange.answered_at is not None:
            assert (exchange.called_at < cut.index) == (exchange.answered_at < cut.index)


@given(items=conversations(), keep=st.integers(0, 2000))
def test_the_kept_part_is_the_largest_that_fits_or_a_single_indivisible_piece(
    items: list[CompactionItem], keep: int
) -> None:
    cut = find_cut_point(items, keep)

    beginnings = [at for at in range(len(items)) if _may_begin(items, at)]
    later = [at for at in beginnings if at >= cut.index]
    earlier = [at for at in beginnings if at < cut.index]
    assert tokens_of(items[cut.index :]) <= keep or len(later) == 1 or not cut.index
    assert all(tokens_of(items[at:]) > keep for at in earlier)


@given(items=conversations(), keep=st.integers(0, 2000))
def test_a_split_turn_begins_before_the_cut_with_a_message(
    items: list[CompactionItem], keep: int
) -> None:
    cut = find_cut_point(items, keep)

    if cut.turn_start is not None:
        assert cut.turn_start < cut.index
        assert items[cut.turn_start].role != "assistant"
        between = {item.role for item in items[cut.turn_start + 1 : cut.index]}
        assert between <= {"assistant", "toolResult", "metadata"}


def _may_begin(items: list[CompactionItem], at: int) -> bool:
    parted = (
        exchange.called_at < at <= exchange.answered_at
        for exchange in exchanges(items)
        if exchange.answered_at is not None
    )
    return items[at].role in CUTS and not any(parted)
