from __future__ import annotations

import pytest

from pi.agent.compaction.budget import CompactionSettings
from pi.agent.compaction.compact import BranchNotes, abandoned_items, summarise_branch
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_lists import FileLists
from pi.agent.compaction.summarise import SummaryInstructions, question
from pi.ai.messages import Usage
from pi.base.records import replace
from tests.agent.compaction.conversations import (
    MODEL,
    ScriptedAsk,
    answer,
    call,
    metadata,
    result,
    says,
    shown,
    user,
)

BRANCH = (user("1", "branch prompt"), answer("2", "B1"))


def test_the_abandoned_items_are_those_that_the_new_path_lacks() -> None:
    a, b, c, d = (user(id, id) for id in "abcd")

    assert abandoned_items([a, b, c], [a, d]) == (b, c)
    assert abandoned_items([a, b], [a, b, c]) == ()


async def test_a_branch_summary_begins_with_the_recorded_preamble() -> None:
    ask = ScriptedAsk(says("## Goal\nbranch summary text", tokens=9))
    guidance = SummaryInstructions(custom_instructions="why it failed")

    summary = await summarise_branch(
        BRANCH, ask, CompactionSettings(), model=MODEL, guidance=guidance
    )

    assert summary == BranchNotes(
        summary="The user explored a different conversation branch before returning here.\n"
        "Summary of that exploration:\n\n## Goal\nbranch summary text",
        details=FileLists(),
        usage=Usage(output=9, total_tokens=9),
    )
    text = "<user>\nbranch prompt\n</user>\n<assistant>\nB1\n</assistant>"
    assert ask.prompts == [question("branch", text, guidance=guidance)]
    assert ask.requests[0].purpose == "branch_summary"


async def test_files_of_the_branch_and_of_summaries_in_it_are_listed() -> None:
    items = (
        shown("1", "branchSummary", "tried", {"readFiles": ["r"], "modifiedFiles": ["m"]}),
        answer("2", "", call("c", "write", path="w")),
        result("3", "c", tool="write"),
    )

    summary = await summarise_branch(
        items, ScriptedAsk(says("notes")), CompactionSettings(), model=MODEL
    )

    assert summary.details == FileLists(read_files=("r",), modified_files=("m", "w"))
    assert summary.summary.endswith(
        "notes\n\n<read-files>\nr\n</read-files>\n<modified-files>\nm\nw\n</modified-files>"
    )


async def test_only_the_newest_part_of_a_long_branch_is_summarised_in_one_request() -> None:
    ask = ScriptedAsk(says("notes"))
    items = [user(str(number), f"{number} " * 2000) for number in range(20)]
    small = replace(MODEL, context_window=16_000)

    await summarise_branch(items, ask, CompactionSettings(), model=small)

    (prompt,) = ask.prompts
    assert "19 19" in prompt
    assert "left out" in prompt
    assert "\n7 7" not in prompt


@pytest.mark.parametrize("items", [(), (metadata("1"),)])
async def test_an_empty_branch_has_nothing_to_summarise(items: tuple[object, ...]) -> None:
    ask = ScriptedAsk(says("notes"))

    with pytest.raises(CompactionFailed) as failed:
        await summarise_branch(items, ask, CompactionSettings(), model=MODEL)  # type: ignore[arg-type]

    assert failed.value.code == "nothing_to_compact"
    assert ask.requests == []
