from __future__ import annotations

from dataclasses import replace

from pi.ai.messages import Cost
from pi.batteries.timebox.adapters.pi import SessionTotals, records
from pi.batteries.timebox.core.persist import Active, Off, budget_to_json
from pi.coding.session.entries import ModelChange, UsageEntry
from pi.extension import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Custom,
    Entry,
    MessageEntry,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.batteries.timebox.core.budgets import START, budget

COST = Usage(input=1, output=2, cache_read=3, cache_write=4, cost=Cost(total=0.25))
ENTRIES: list[Entry] = [
    ModelChange(provider="faux", model_id="faux"),
    MessageEntry(message=UserMessage(content="hello")),
    MessageEntry(message=AssistantMessage(usage=COST)),
    MessageEntry(
        message=ToolResultMessage(tool_call_id="1", tool_name="task", content=(), usage=COST)
    ),
    MessageEntry(message=ToolResultMessage(tool_call_id="2", tool_name="bash", content=())),
    Compaction(summary="so far", first_kept_id="", tokens_before=1, usage=COST),
    BranchSummary(from_id="", summary="notes", usage=COST),
    UsageEntry(kind="title", provider="faux", model="faux", usage=COST),
    MessageEntry(message=UserMessage(content="go on")),
]


def test_the_totals_include_all_usage_of_the_log() -> None:
    totals = SessionTotals()

    totals.recount(ENTRIES)

    assert totals.reading(5) == {"time": 5, "turns": 2, "requests": 1, "tokens": 50, "cost": 1.25}


def test_totals_are_incremented_until_they_are_recounted() -> None:
    totals = SessionTotals()
    totals.recount(ENTRIES)
    totals.add_message(UserMessage(content="more"))
    totals.add_usage(COST)
    assert totals.reading(6) == {"time": 6, "turns": 3, "requests": 1, "tokens": 60, "cost": 1.5}

    totals.recount([])

    assert totals.reading(7) == {"time": 7, "turns": 0, "requests": 0, "tokens": 0, "cost": 0.0}


def test_records_are_found_among_other_entries_and_invalid_ones_are_skipped() -> None:
    held = replace(budget(turns=5), start={"time": START, "turns": 2})
    entries: list[Entry] = [
        *ENTRIES,
        Custom(custom_type="timebox-active", data=budget_to_json(held)),
        Custom(custom_type="timebox-active", data={"turnLimit": "many"}),
        Custom(custom_type="timebox-active"),
        Custom(custom_type="todo", data=budget_to_json(held)),
        Custom(custom_type="timebox-off", data={"disabledAt": 12}),
        Custom(custom_type="timebox-off"),
    ]

    assert list(records(entries)) == [Active(held), Off(12), Off(0)]
