from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.agent.compaction.budget import CompactionItem, CompactionSettings, estimate_tokens
from pi.agent.compaction.compact import CompactionDetails, CompactionResult, compact
from pi.agent.compaction.errors import CompactionError, CompactionFailed
from pi.agent.compaction.prepare import PreviousSummary, prepare
from pi.agent.compaction.summarise import question
from pi.agent.compaction.text import serialise
from pi.ai.messages import Usage
from pi.base.records import replace
from tests.agent.compaction.conversations import (
    MODEL,
    USELESS,
    ScriptedAsk,
    answer,
    call,
    result,
    says,
    user,
)

LONG = "lorem ipsum dolor " * 60
TINY = CompactionSettings(keep_recent_tokens=200, reserve_tokens=1000)
ITEMS = (
    user("ebdb", LONG),
    answer("b9f1", LONG),
    user("e415", LONG),
    answer("da71", LONG, call("c1", "read", path="a.txt")),
    result("88e5", "c1", "alpha", tool="read"),
    user("c3d1", LONG),
    answer("268e", LONG),
)


async def run(
    items: Sequence[CompactionItem],
    ask: ScriptedAsk,
    chosen: CompactionSettings = TINY,
    previous: CompactionResult | None = None,
) -> CompactionResult:
    earlier = None
    if previous is not None:
        details = msgspec.to_builtins(previous.details)
        earlier = PreviousSummary(summary=previous.summary, details=details)
    prepared = prepare(items, chosen, window=200_000, tokens_before=120, previous=earlier)
    return await compact(prepared, ask, chosen, model=MODEL)


@pytest.mark.behaviour("cut-keeps-calls-and-results")
async def test_a_split_turn_gets_two_summaries_that_are_merged_as_recorded() -> None:
    ask = ScriptedAsk(
        says("## Goal\nmanual summary text", tokens=20), says("## Goal\nprefix", tokens=20)
    )

    finished = await run(ITEMS, ask)

    assert finished == CompactionResult(
        summary="## Goal\nmanual summary text\n\n---\n\n**Turn Context (split turn):**\n\n"
        "## Goal\nprefix\n\n<read-files>\na.txt\n</read-files>",
        first_kept_id="268e",
        tokens_before=120,
        details=CompactionDetails(read_files=("a.txt",), carry_over=finished.details.carry_over),
        usage=Usage(output=40, total_tokens=40),
    )
    assert ask.prompts == [
        question("history", "\n".join(serialise(ITEMS[:5]))),
        question("turn_prefix", "\n".join(serialise(ITEMS[5:6]))),
    ]


async def test_the_json_keys_of_a_result_are_those_of_the_session_file() -> None:
    finished = await run(ITEMS, ScriptedAsk(says("notes")))

    stored = msgspec.to_builtins(finished)

    assert list(stored) == ["summary", "firstKeptEntryId", "tokensBefore", "details", "usage"]
    assert list(stored["details"]) == ["readFiles", "modifiedFiles", "carryOver"]


async def test_a_cut_between_turns_gets_one_summary() -> None:
    ask = ScriptedAsk(says("notes"))

    finished = await run(ITEMS, ask, replace(TINY, keep_recent_tokens=600))

    assert finished.first_kept_id == "c3d1"
    assert finished.summary.startswith("notes\n\n<")
    assert len(ask.requests) == 1


@pytest.mark.behaviour("only-the-branch-is-summarised")
async def test_the_next_summary_covers_the_earlier_summary_and_the_messages_kept_then() -> None:
    ask = ScriptedAsk(says("first"), says("prefix"), says("second"))
    once = await run(ITEMS, ask)
    later = (*ITEMS[-1:], user("u", LONG), answer("a", LONG), user("v", LONG))

    twice = await run(later, ask, replace(TINY, keep_recent_tokens=400), once)

    assert ask.prompts[-1] == question(
        "history",
        "\n".join(serialise(later[:3])),
        previous="first\n\n---\n\n**Turn Context (split turn):**\n\nprefix",
    )
    assert twice.details.read_files == ("a.txt",)
    assert "<read-files>\na.txt\n</read-files>" in twice.summary


async def test_a_split_first_turn_gets_only_a_summary_of_its_beginning() -> None:
    ask = ScriptedAsk(says("prefix"))

    finished = await run((user("1", LONG), answer("2", LONG), answer("3", LONG)), ask)

    assert finished.summary == "**Turn Context (split turn):**\n\nprefix"
    assert len(ask.requests) == 1


async def test_the_earlier_summary_is_kept_when_only_the_running_turn_has_grown() -> None:
    ask = ScriptedAsk(says("new prefix"))
    once = CompactionResult(
        summary="earlier notes",
        first_kept_id="1",
        tokens_before=1,
        details=CompactionDetails(),
        usage=Usage(),
    )

    finished = await run((user("1", LONG), answer("2", LONG), answer("3", LONG)), ask, TINY, once)

    assert finished.summary == (
        "earlier notes\n\n---\n\n**Turn Context (split turn):**\n\nnew prefix"
    )


async def test_a_history_that_needs_no_notes_sends_no_request() -> None:
    ask = ScriptedAsk(says("never asked"))
    items = (
        answer("1", "", call("c", "grep", pattern=LONG)),
        replace(result("2", "c", LONG), useless=True),
        user("3", LONG),
    )

    finished = await run(items, ask, replace(TINY, keep_recent_tokens=300))

    assert finished.summary == "Nothing in this part of the conversation needs notes."
    assert ask.requests == []


@pytest.mark.behaviour("no-gain-tries-the-next")
async def test_a_summary_longer_than_the_replaced_text_is_retried_once_and_then_fails() -> None:
    ask = ScriptedAsk(says(LONG))

    with pytest.raises(CompactionFailed) as failed:
        await run((user("1", "hi"), answer("2", "ho"), user("3", LONG)), ask)

    assert failed.value.error == CompactionError(
        code="not_smaller", message="The summary is longer than what it replaces."
    )
    assert len(ask.requests) == 2


@pytest.mark.behaviour("no-gain-tries-the-next")
async def test_the_carry_over_counts_towards_the_size_of_the_summary() -> None:
    items = (user("1", "Never do this."), answer("2", "Next: that."), user("3", LONG * 4))

    with pytest.raises(CompactionFailed) as failed:
        await run(items, ScriptedAsk(says("ok")), replace(TINY, keep_recent_tokens=1080))

    assert failed.value.error == CompactionError(
        code="not_smaller",
        message="The summary would take 54 tokens and what it replaces takes 7.",
    )


# The contract: what the user wants survives, whatever the model writes -----------------------

RULE = "Never touch the file LICENSE.md."
TASK = "teach the parser about tabs"
STEP = "Next: measure the parser with 10 MB of input."
FIRST = "Build a parser for our config files."
LATEST = "How far are you with the numbers?"
FILE = "src/parser/tabs.py"


def turn(number: int, words: int) -> list[CompactionItem]:
    filler = f"step {number} " * words
    return [
        user(f"u{number}", f"Please look at part {number}. {filler}"),
        answer(f"a{number}", filler, call("c", "read", path=f"part{number}.py")),
        result(f"r{number}", "c", filler, tool="read"),
        answer(f"b{number}", f"I have looked at part {number}. {filler}"),
    ]


def planted() -> list[list[CompactionItem]]:
    return [
        [user("rule", f"Good. {RULE} Go on.")],
        [answer("task", f"Plan:\n- [ ] {TASK}\n- [x] something else")],
        [answer("step", f"That was it.\n\n{STEP}")],
        [
            answer("edit", "", call("e", "edit", path=FILE)),
            result("edited", "e", "done", tool="edit"),
        ],
    ]


def history(places: Sequence[int], turns: int, words: int) -> list[CompactionItem]:
    parts = [turn(number, words) for number in range(turns)]
    for place, things in zip(places, planted(), strict=True):
        parts[place % turns] += things
    return [user("first", FIRST), *(item for part in parts for item in part)]


async def survivors(
    items: list[CompactionItem], chosen: CompactionSettings, rounds: int
) -> list[str]:
    """The text that the model gets after each round of compacting and continuing."""
    ask = ScriptedAsk(says(USELESS))
    previous: CompactionResult | None = None
    seen = []
    for number in range(rounds):
        previous = await run(items, ask, chosen, previous)
        kept = next(at for at, item in enumerate(items) if item.id == previous.first_kept_id)
        seen.append("\n".join((previous.summary, *serialise(items[kept:]))))
        items = items[kept:] + [
            item for more in range(6) for item in turn(1000 * (number + 1) + more, 60)
        ]
    return seen


@pytest.mark.full
@settings(max_examples=25)
@given(places=st.lists(st.integers(0, 39), min_size=4, max_size=4))
async def test_planted_things_survive_five_compactions_with_a_useless_summariser(
    places: list[int],
) -> None:
    chosen = CompactionSettings(keep_recent_tokens=3000)
    items = [*history(places, turns=40, words=40), user("latest", LATEST), *turn(99, 60)[1:]]

    seen = await survivors(items, chosen, 5)

    assert len(seen) == 5
    for context in seen:
        assert {
            name for name in (RULE, TASK, STEP, FILE, FIRST, LATEST) if name not in context
        } == set()


async def test_planted_things_survive_with_the_default_settings() -> None:
    items = [*history([3, 70, 140, 199], turns=200, words=100), user("latest", LATEST)]

    for context in await survivors(items, CompactionSettings(), 1):
        assert {name for name in (RULE, TASK, STEP, FILE, FIRST) if name not in context} == set()


@settings(max_examples=25)
@given(places=st.lists(st.integers(0, 39), min_size=4, max_size=4), keep=st.integers(800, 6000))
async def test_the_carry_over_takes_at_most_15_percent_of_the_kept_tokens(
    places: list[int], keep: int
) -> None:
    chosen = CompactionSettings(keep_recent_tokens=keep)

    finished = await run(history(places, turns=40, words=40), ScriptedAsk(says(USELESS)), chosen)

    added = finished.summary.replace(USELESS, "").replace("**Turn Context (split turn):**", "")
    assert estimate_tokens(added.strip("\n-")) <= 0.15 * keep
