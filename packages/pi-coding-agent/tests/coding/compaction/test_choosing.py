"""Which strategy is used, the preview of a compaction, and further settings of a summary."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.agent.compaction.budget import CompactionSettings, threshold, tokens_to_keep
from pi.agent.compaction.file_lists import FileTree, file_blocks
from pi.agent.compaction.text import readable_summary, without_blocks
from pi.agent.tools.define import tool
from pi.base.records import replace
from pi.coding.compaction.execution import preview
from pi.coding.compaction.request import CompactArguments, CompactionRequest
from pi.coding.compaction.strategies import Declined, Outcome, ShakeStrategy, SummaryStrategy, Work
from pi.coding.session.entries import Compaction
from pi.testing import calls, says
from tests.coding.compaction.compaction_fixture import OPTIONS, CompactionFixture, always


@pytest.mark.parametrize(
    ("text", "strategy", "instructions", "preview"),
    [
        ("", "", "", False),
        ("shake", "", "shake", False),  # a bare word stays an instruction
        ("strategy:shake", "shake", "", False),
        ("strategy:shake  keep the API ", "shake", "keep the API", False),
        ("--preview strategy:x y", "x", "y", True),
        ("strategy:x --preview", "x", "", True),
        ("keep strategy:x", "", "keep strategy:x", False),
        ("strategy: x", "", "strategy: x", False),
    ],
)
def test_the_arguments_of_compact_are_parsed(
    text: str, strategy: str, instructions: str, preview: bool
) -> None:
    parsed = CompactArguments.parse(text)
    assert (parsed.strategy, parsed.instructions, parsed.preview) == (
        strategy,
        instructions,
        preview,
    )


class Recording:
    """Declines, and records the work that it was given."""

    keeps = "nothing"

    def __init__(self) -> None:
        self.works: list[Work] = []

    async def compact(self, work: Work) -> Outcome:
        self.works.append(work)
        return Declined(why="not this time")


async def talked(fixture: CompactionFixture, count: int = 6) -> None:
    for n in range(count):
        fixture.stream.add(says(f"answer {n} " + "w" * 2000))
        await fixture.agent.prompt(f"question {n} " + "x" * 2000)


def fixture(mine: Recording, **changes: object) -> CompactionFixture:
    strategies = {"context-full": SummaryStrategy(), "shake": ShakeStrategy(), "mine": mine}
    options = replace(OPTIONS, enabled=False, **changes)
    return CompactionFixture(summaries=[always], options=options, strategies=strategies)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("configured", "request_", "is_asked"),
    [
        ("mine", CompactionRequest(reason="manual"), True),
        ("mine", CompactionRequest(reason="manual", instructions="x"), False),
        ("context-full", CompactionRequest(reason="manual", strategy="mine"), True),
        ("off", CompactionRequest(reason="manual", strategy="mine", instructions="x"), True),
    ],
)
async def test_a_named_strategy_is_tried_first_also_with_instructions(
    configured: str, request_: CompactionRequest, is_asked: bool
) -> None:
    mine = Recording()
    made = fixture(mine, strategy=configured)
    await talked(made)
    await made.compactor.compact(request_)

    assert bool(mine.works) == is_asked
    if mine.works:
        assert mine.works[0].instructions == request_.instructions
    assert "compaction" in made.kinds  # it declined, so a summary was made


async def test_a_preview_lists_dropped_and_kept_parts_and_changes_nothing() -> None:
    made = fixture(Recording())
    await talked(made)
    before = made.kinds

    plan = await preview(made.around, CompactionRequest(reason="manual"))
    everything = await preview(made.around, CompactionRequest(reason="manual", strategy="mine"))
    shaken = await preview(made.around, CompactionRequest(reason="manual", strategy="shake"))

    assert (plan.strategy, plan.keeps) == ("context-full", "recent")
    assert plan.dropped_messages + plan.kept_messages == 12
    assert plan.dropped_tokens > plan.kept_tokens > 0
    assert plan.first_kept.startswith(("question", "answer"))
    assert plan.carried.startswith("<carry-over>")
    assert (everything.dropped_messages, everything.keeps) == (12, "nothing")
    assert shaken.kept_messages == 12
    assert made.kinds == before
    assert made.summariser.requests == []


async def test_a_preview_of_a_short_session_reports_why_it_cannot_be_compacted() -> None:
    made = fixture(Recording())
    made.stream.add(says("hello"))
    await made.agent.prompt("hi")
    plan = await preview(made.around, CompactionRequest(reason="manual"))
    assert "too small" in plan.problem


def test_the_reserve_can_be_a_percentage_of_the_window_with_a_minimum() -> None:
    text = CompactionSettings(reserve_percent=15)
    assert threshold(200_000, text) == 170_000
    assert threshold(60_000, text) == 60_000 - 16_384
    assert threshold(200_000, CompactionSettings()) == 200_000 - 16_384


def test_adaptive_keep_scales_the_kept_tokens_by_the_count_of_the_provider() -> None:
    adaptive = CompactionSettings(adaptive_keep=True)
    assert tokens_to_keep(200_000, adaptive, 2.0) == 10_000
    assert tokens_to_keep(200_000, adaptive, 0.5) == 40_000
    assert tokens_to_keep(200_000, adaptive, 100.0) == 6_666
    assert tokens_to_keep(200_000, CompactionSettings(), 2.0) == 20_000


def test_file_lists_are_written_as_a_tree() -> None:
    files = FileTree(
        read_files=("a/b/read.py", "top.md"),
        modified_files=("a/b/both.py", "a/b/c/new.py"),
        also_read=("a/b/both.py",),
    )
    block = file_blocks(files, 10_000)

    assert block.splitlines() == [
        "<files>",
        "top.md (Read)",
        "# a/b/",
        "both.py (RW)",
        "read.py (Read)",
        "## c/",
        "new.py (Write)",
        "</files>",
    ]
    assert without_blocks(f"notes\n\n{block}") == "notes"
    assert "## Files" in readable_summary(f"notes\n\n{block}")
    many = FileTree(read_files=tuple(f"f{n:02}.py" for n in range(50)))
    assert "… (30 more files omitted)" in file_blocks(many, 10_000)
    assert len(file_blocks(many, 120)) <= 120


@tool
async def edit(path: str) -> str:
    """Change a file.

    Args:
        path: Which one.
    """
    return "done"


@tool
async def read(path: str) -> str:
    """Read a file.

    Args:
        path: Which one.
    """
    return "text"


async def test_a_file_read_before_a_compaction_and_changed_after_it_is_marked_as_both() -> None:
    options = replace(OPTIONS, enabled=False, file_tree=True, keep_recent_tokens=300)
    made = CompactionFixture(summaries=[always], options=options, tools=[edit, read])
    for name in ("read", "edit", "nothing"):
        if name != "nothing":
            made.stream.add(calls(name, path="src/x.py"), says("ok"))
            await made.agent.prompt(f"{name} it")
        await talked(made, 3)
        await made.compactor.compact(CompactionRequest(reason="manual"))
    entries = [entry for entry in made.log.entries() if isinstance(entry, Compaction)]

    assert ["x.py (Read)" in entries[0].summary, "x.py (RW)" in entries[1].summary] == [True, True]
    assert "x.py (RW)" in entries[2].summary
    assert "<modified-files>" not in entries[1].summary


async def test_a_short_summary_takes_one_more_request_and_only_if_enabled() -> None:
    made = fixture(Recording(), short_summary=True)
    await talked(made)
    result = await made.compactor.compact(CompactionRequest(reason="manual"))
    (entry,) = [entry for entry in made.log.entries() if isinstance(entry, Compaction)]

    assert entry.short_summary == "The work went on and came to an end."
    assert result.short_summary == entry.short_summary
    plain = fixture(Recording())
    await talked(plain)
    assert (
        await plain.compactor.compact(CompactionRequest(reason="manual"))
    ).short_summary is UNSET
    assert len(made.summariser.requests) == len(plain.summariser.requests) + 1
