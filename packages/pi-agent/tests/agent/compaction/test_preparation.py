from __future__ import annotations

import msgspec
import pytest

from pi.agent.compaction.budget import CompactionSettings
from pi.agent.compaction.carry_over import CarryOver, NextAction, Quote
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_lists import FileLists, FileOps
from pi.agent.compaction.prepare import Preparation, PreviousSummary, prepare
from pi.agent.compaction.summarise import SummaryInstructions
from tests.agent.compaction.conversations import answer, call, metadata, result, user

SETTINGS = CompactionSettings(keep_recent_tokens=200)
LONG = "x" * 1000
ITEMS = (
    user("1", "Never push."),
    answer("2", LONG, call("c", "read", path="a.txt")),
    result("3", "c", "text", tool="read"),
    user("4", LONG),
    answer("5", LONG, call("d", "edit", path="b.txt")),
    result("6", "d", "done", tool="edit"),
    answer("7", LONG),
)


def test_a_conversation_is_split_into_history_turn_prefix_and_kept_messages() -> None:
    guidance = SummaryInstructions(custom_instructions="focus")

    assert prepare(
        ITEMS, SETTINGS, window=32_000, tokens_before=9000, guidance=guidance
    ) == Preparation(
        first_kept_id="7",
        history=ITEMS[:3],
        turn_prefix=ITEMS[3:6],
        kept=ITEMS[6:],
        tokens_before=9000,
        files=FileLists(read_files=("a.txt",), modified_files=("b.txt",)),
        carry_over=CarryOver(
            first=Quote(id="1", text="Never push."),
            latest=Quote(id="4", text=LONG),
            instructions=(Quote(id="1", text="Never push."),),
        ),
        carry_over_tokens=30,
        guidance=guidance,
        settings=SETTINGS,
    )


def test_a_preparation_has_the_attribute_names_of_the_original_pi() -> None:
    prepared = prepare(ITEMS, SETTINGS, window=32_000, tokens_before=1)

    assert prepared.first_kept_entry_id == "7"
    assert prepared.messages_to_summarize == tuple(item.message for item in ITEMS[:3])
    assert prepared.turn_prefix_messages == tuple(item.message for item in ITEMS[3:6])
    assert prepared.is_split_turn
    assert prepared.file_ops == FileOps(read=frozenset({"a.txt"}), edited=frozenset({"b.txt"}))


def test_a_cut_between_turns_has_no_turn_prefix() -> None:
    prepared = prepare(
        ITEMS, CompactionSettings(keep_recent_tokens=800), window=32_000, tokens_before=1
    )

    assert (prepared.history, prepared.turn_prefix, prepared.kept) == (ITEMS[:3], (), ITEMS[3:])


def test_files_and_carry_over_of_an_earlier_compaction_are_continued() -> None:
    earlier = CarryOver(first=Quote(id="0", text="start"), unshown=("9",))
    details = {
        "readFiles": ["b.txt", "z"],
        "modifiedFiles": ["y"],
        "carryOver": msgspec.to_builtins(earlier),
    }

    prepared = prepare(
        ITEMS,
        SETTINGS,
        window=32_000,
        tokens_before=1,
        previous=PreviousSummary(summary="notes", details=details),
        before=[user("00", "not read")],
    )

    assert prepared.previous_summary == "notes"
    assert prepared.files == FileLists(read_files=("z", "a.txt"), modified_files=("y", "b.txt"))
    assert prepared.carry_over == CarryOver(
        first=Quote(id="0", text="start"),
        latest=Quote(id="4", text=LONG),
        messages=(Quote(id="1", text="Never push."),),
        instructions=(Quote(id="1", text="Never push."),),
        unshown=("9",),
    )
    assert prepared.replaced_tokens == 3 + 255 + 1 + 250 + 255 + 1 + 2


@pytest.mark.parametrize("details", [None, {"readFiles": [], "modifiedFiles": []}])
def test_a_missing_carry_over_of_an_earlier_compaction_is_rebuilt_from_the_log(
    details: dict[str, object] | None,
) -> None:
    prepared = prepare(
        ITEMS,
        SETTINGS,
        window=32_000,
        tokens_before=1,
        previous=PreviousSummary(summary="another program's", details=details),
        before=[user("0", "start"), answer("00", "Next: look.")],
    )

    assert prepared.carry_over.first == Quote(id="0", text="start")
    assert prepared.carry_over.next_action == NextAction(
        id="00", text="Next: look.", announced=True
    )


@pytest.mark.parametrize("items", [(), ITEMS[:1], (metadata("m"), *ITEMS[:1])])
def test_a_short_conversation_has_nothing_to_compact(items: tuple[object, ...]) -> None:
    with pytest.raises(CompactionFailed) as failed:
        prepare(items, SETTINGS, window=32_000, tokens_before=1)  # type: ignore[arg-type]

    assert failed.value.code == "nothing_to_compact"
    assert failed.value.message == "Nothing to compact (session too small)"
