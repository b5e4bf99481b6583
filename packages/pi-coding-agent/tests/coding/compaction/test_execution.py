"""One compaction: hooks, strategies, models, aborts, and what reaches the log."""

from __future__ import annotations

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.messages import SystemMessage, Text
from pi.ai.providers.faux import Step
from pi.base.records import replace
from pi.coding.compaction.events import (
    CompactDecision,
    CompactingAnswer,
    CompactionEnd,
    CompactionResult,
    CompactionStart,
    SessionBeforeCompactEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
)
from pi.coding.compaction.request import CompactionRequest
from pi.coding.compaction.strategies import Declined, HandOff, Outcome, SummaryStrategy, Work
from pi.coding.session.entries import Compaction
from pi.testing import Reply, says
from tests.coding.compaction.compaction_fixture import (
    OPTIONS,
    SMALL,
    SUMMARY,
    CompactionFixture,
    always,
)

LONG = "word " * 2_000
MANUAL = CompactionRequest(reason="manual")


async def fixture_with(*summaries: Step, **options: object) -> CompactionFixture:
    """A conversation of three exchanges, and a summariser with a script."""
    answers = [says(f"answer {n}") for n in range(3)]
    fixture = CompactionFixture(*answers, summaries=summaries, **options)  # type: ignore[arg-type]
    fixture.options = replace(fixture.options, enabled=False)
    fixture.agent.system_prompt = "Be brief."
    for n in range(3):
        await fixture.agent.prompt(f"question {n} {LONG}")
    fixture.emitted.clear()
    return fixture


async def test_a_compaction_appends_one_complete_entry() -> None:
    fixture = await fixture_with(always)
    before = [fixture.log.line(position) for position in range(len(fixture.log.tree))]
    result = await fixture.compactor.compact(MANUAL)

    entry = list(fixture.log.branch())[-1]
    assert isinstance(entry, Compaction)
    assert entry.summary.startswith(SUMMARY)
    assert (entry.from_hook, entry.tokens_before) == (False, result.tokens_before)
    assert isinstance(entry.system_message, SystemMessage)
    assert entry.system_message.sections == {"preamble": "Be brief."}
    assert isinstance(entry.details, dict)
    assert set(entry.details) >= {"readFiles", "modifiedFiles"}
    assert [fixture.log.line(position) for position in range(len(before))] == before
    assert fixture.emitted == [
        CompactionStart(reason="manual"),
        CompactionEnd(reason="manual", result=result),
    ]


async def test_instructions_reach_the_summarising_model() -> None:
    fixture = await fixture_with(always)
    await fixture.compactor.compact(
        CompactionRequest(reason="manual", instructions="focus on the tests")
    )

    assert "focus on the tests" in str(fixture.summariser.requests[0].messages)


@pytest.mark.behaviour("summary-keeps-the-policy")
async def test_a_summary_request_offers_no_tools() -> None:
    fixture = await fixture_with(always)
    await fixture.compactor.compact(MANUAL)

    messages = [message for request in fixture.summariser.requests for message in request.messages]
    assert all(not (m.tools_added or ()) for m in messages if isinstance(m, SystemMessage))


@pytest.mark.behaviour("bad-summary-is-not-stored")
@pytest.mark.parametrize("bad", [says(""), replace(says("half"), stop_reason="length")])
async def test_an_unusable_summary_is_requested_again_and_then_fails(
    bad: Reply,
) -> None:
    bad_replies = [bad]
    good = await fixture_with(lambda call: bad_replies.pop() if bad_replies else says(SUMMARY))
    await good.compactor.compact(MANUAL)
    assert SUMMARY in good.shown

    fixture = await fixture_with(lambda call: bad)
    before = fixture.kinds
    with pytest.raises(CompactionFailed):
        await fixture.compactor.compact(MANUAL)
    assert fixture.kinds == before
    assert fixture.events(CompactionEnd)[0].error_message.startswith("Compaction failed: ")


async def test_a_fallback_model_summarises_when_the_model_of_the_session_fails() -> None:
    broken = replace(says("x"), error="500: broken")
    other = replace(SMALL, id="other")
    fixture = await fixture_with(
        lambda call: says(SUMMARY) if call.model.id == "other" else broken, fallbacks=[other]
    )
    await fixture.compactor.compact(MANUAL)

    models = [request.model.id for request in fixture.summariser.requests]
    assert (models[:2], set(models[2:])) == (["faux", "faux"], {"other"})


async def test_a_hook_may_forbid_a_compaction() -> None:
    fixture = await fixture_with()
    failed: list[SessionCompactFailedEvent] = []
    fixture.bus.subscribe(SessionBeforeCompactEvent, lambda question: CompactDecision(cancel=True))
    fixture.bus.subscribe(SessionCompactFailedEvent, failed.append)
    with pytest.raises(CompactionFailed) as error:
        await fixture.compactor.compact(MANUAL)

    assert error.value.code == "aborted"
    assert (fixture.events(CompactionEnd)[0].aborted, failed[0].aborted) == (True, True)


async def test_a_hook_can_provide_the_compaction_result() -> None:
    fixture = await fixture_with()
    compacted: list[SessionCompactEvent] = []
    fixture.bus.subscribe(SessionCompactEvent, compacted.append)

    def bring(question: SessionBeforeCompactEvent) -> CompactDecision:
        result = CompactionResult(
            summary="theirs",
            first_kept_id=question.preparation.first_kept_id,
            tokens_before=question.preparation.tokens_before,
            content=(Text(text="look at this"),),
            preserve_data={"frames": 1},
        )
        return CompactDecision(compaction=result)

    fixture.bus.subscribe(SessionBeforeCompactEvent, bring)
    await fixture.compactor.compact(MANUAL)

    entry = compacted[0].compaction_entry
    assert (entry.from_hook, entry.preserve_data) == (True, {"frames": 1})
    assert compacted[0].from_extension
    assert "look at this" in fixture.shown
    assert "theirs" not in fixture.shown


async def test_hooks_may_add_context_a_prompt_and_data_to_keep() -> None:
    fixture = await fixture_with(always)
    one = CompactingAnswer(context=("remember the fish",), preserve_data={"a": 1})
    two = CompactingAnswer(
        context=("and the cat",), prompt="Write a haiku.", preserve_data={"b": 2}
    )
    fixture.bus.subscribe(SessionCompactingEvent, lambda question: one)
    fixture.bus.subscribe(SessionCompactingEvent, lambda question: two)
    await fixture.compactor.compact(MANUAL)

    messages = str(fixture.summariser.requests[0].messages)
    assert all(text in messages for text in ("remember the fish", "and the cat", "Write a haiku."))
    entry = list(fixture.log.branch())[-1]
    assert isinstance(entry, Compaction)
    assert entry.preserve_data == {"a": 1, "b": 2}


class Fixed:
    """A strategy that returns a fixed outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.asked: list[Work] = []

    async def compact(self, work: Work) -> Outcome:
        self.asked.append(work)
        return self._outcome


@pytest.mark.behaviour("portable-summary-fallback")
async def test_a_summary_is_made_when_the_strategy_declines() -> None:
    picky = Fixed(Declined(why="no pictures"))
    fixture = await fixture_with(
        always,
        options=replace(OPTIONS, strategy="snapcompact"),
        strategies={"snapcompact": picky, "context-full": SummaryStrategy()},
    )
    await fixture.compactor.compact(MANUAL)

    assert len(picky.asked) == 1
    assert SUMMARY in fixture.shown


async def test_a_compaction_with_instructions_skips_the_configured_strategy() -> None:
    picky = Fixed(Declined(why="no pictures"))
    fixture = await fixture_with(
        always,
        options=replace(OPTIONS, strategy="snapcompact"),
        strategies={"snapcompact": picky, "context-full": SummaryStrategy()},
    )
    await fixture.compactor.compact(CompactionRequest(reason="manual", instructions="mind the gap"))

    assert picky.asked == []


async def test_a_hand_off_is_passed_to_the_session_and_adds_no_entry() -> None:
    fixture = await fixture_with(
        options=replace(OPTIONS, strategy="handoff"),
        strategies={"handoff": Fixed(HandOff(document="Go on here."))},
    )
    before = fixture.kinds
    await fixture.compactor.compact(MANUAL)

    assert (fixture.handed, fixture.kinds) == (["Go on here."], before)


@pytest.mark.behaviour("stale-background-compaction")
async def test_a_compaction_of_a_branch_that_was_left_is_dropped() -> None:
    fixture = await fixture_with(always)
    first = next(iter(fixture.log.branch())).id
    fixture.bus.subscribe(SessionCompactingEvent, lambda question: fixture.log.move_to(first))
    with pytest.raises(CompactionFailed, match="other"):
        await fixture.compactor.compact(MANUAL)

    assert "compaction" not in fixture.kinds
