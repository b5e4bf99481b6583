"""When a conversation is compacted, and which events are emitted in which order."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pi.agent.events import TurnEnd
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolResult
from pi.ai.errors import BadRequest, ContextOverflow, RateLimited
from pi.ai.messages import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.records import replace
from pi.coding.compaction import automatic
from pi.coding.compaction.events import CompactDecision, CompactionEnd, SessionBeforeCompactEvent
from pi.coding.compaction.strategies import HandOff, Outcome, Work
from pi.coding.session.entries import Compaction
from pi.testing import Reply, calls, says
from tests.coding.compaction.compaction_fixture import (
    OPTIONS,
    SMALL,
    SUMMARY,
    CompactionFixture,
    always,
    answers,
)

OVERFLOW = ContextOverflow("400: This model's maximum context length is 10000 tokens", status=400)
LONG = "word " * 2_000


@tool
async def dig(depth: int) -> str:
    """Dig a hole.

    Args:
        depth: How deep.
    """
    return "earth " * depth


async def filled(fixture: CompactionFixture) -> None:
    """Two exchanges that are long enough to be worth compacting."""
    for _ in range(2):
        await fixture.agent.prompt(LONG)
    fixture.emitted.clear()


async def test_a_conversation_above_the_threshold_is_compacted_after_the_run() -> None:
    fixture = CompactionFixture(says("a"), answers("b", 9_000), summaries=[always])
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt(LONG)

    assert fixture.order[-4:] == [
        "agent_end",
        "compaction_start",
        "compaction_end",
        "agent_settled",
    ]
    end = fixture.events(CompactionEnd)[0]
    assert (end.reason, end.aborted, end.will_retry) == ("threshold", False, False)
    assert end.result.tokens_before == 9_000
    assert end.result.estimated_tokens_after < 9_000
    assert SUMMARY in fixture.shown


@pytest.mark.behaviour("old-usage-does-not-trigger")
async def test_a_count_from_before_a_compaction_does_not_trigger_the_next() -> None:
    fixture = CompactionFixture(
        says("a"), answers("b", 9_000), Reply(usage=Usage()), summaries=[always]
    )
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt("short")
    await fixture.agent.prompt("again")

    assert fixture.order.count("compaction_start") == 1


@pytest.mark.behaviour("old-usage-does-not-trigger")
async def test_pruned_output_triggers_no_compaction_at_the_next_prompt() -> None:
    fixture = CompactionFixture(
        calls("dig", depth=45_000),
        answers("a", 70_000),
        calls("dig", depth=28_000),
        answers("b", 112_000),
        answers("c", 60_000),
        options=replace(OPTIONS, reserve_tokens=20_000),
        model=replace(SMALL, context_window=120_000),
        tools=[dig],
    )
    for prompt in ("one", "two", "three"):
        await fixture.agent.prompt(prompt)

    assert fixture.kinds.count("context_edit") == 1
    assert "compaction_start" not in fixture.order


@pytest.mark.behaviour("one-overflow-one-compaction")
async def test_an_overflow_is_removed_compacted_and_retried_once() -> None:
    fixture = CompactionFixture(says("a"), says("b"), OVERFLOW, says("ok"), summaries=[always])
    await filled(fixture)
    await fixture.agent.prompt("overflow me")

    assert fixture.order == [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "entry_appended",
        "compaction_start",
        "compaction_end",
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert fixture.events(CompactionEnd)[0].will_retry
    assert "maximum context length" not in fixture.shown


@pytest.mark.behaviour("one-overflow-one-compaction")
async def test_a_second_overflow_in_a_row_is_not_compacted_again() -> None:
    fixture = CompactionFixture(says("a"), says("b"), OVERFLOW, OVERFLOW, summaries=[always])
    await filled(fixture)
    await fixture.agent.prompt("overflow me")

    assert fixture.order.count("compaction_start") == 1
    assert len(fixture.stream.requests) == 4
    message = fixture.events(CompactionEnd)[-1].error_message
    assert isinstance(message, str)
    assert message.startswith(
        "Context overflow recovery failed: The conversation was compacted from"
    )
    assert "and it still does not fit" in message


@pytest.mark.behaviour("rate-limit-is-not-overflow")
@pytest.mark.parametrize("failure", [RateLimited("429: slow", status=429), BadRequest("400: no")])
async def test_other_failures_start_no_compaction(failure: Exception) -> None:
    fixture = CompactionFixture(says("a"), says("b"), failure)  # type: ignore[arg-type]
    await filled(fixture)
    await fixture.agent.prompt("now")

    assert "compaction_start" not in fixture.order


async def test_a_failed_overflow_recovery_ends_the_run_with_its_reason() -> None:
    fixture = CompactionFixture(OVERFLOW)
    await fixture.agent.prompt("too much at once")

    end = fixture.events(CompactionEnd)[0]
    assert end.error_message == (
        "Context overflow recovery failed: Nothing to compact (session too small)"
    )
    assert fixture.order[-1] == "agent_settled"
    assert len(fixture.stream.requests) == 1


async def test_a_response_truncated_by_a_full_window_is_compacted_and_retried() -> None:
    cut = replace(answers("and then", 9_900), stop_reason="length")
    fixture = CompactionFixture(says("a"), says("b"), cut, says("ok"), summaries=[always])
    await filled(fixture)
    await fixture.agent.prompt("write")

    end = fixture.events(CompactionEnd)[0]
    assert (end.reason, end.will_retry) == ("incomplete", True)
    assert "and then" not in fixture.shown
    assert fixture.kinds[-3:] == ["context_edit", "compaction", "message"]


@pytest.mark.parametrize("window", [10_000, 0])
async def test_a_truncated_response_is_kept_when_the_window_has_room(window: int) -> None:
    cut = replace(answers("and then", 100), stop_reason="length")
    fixture = CompactionFixture(cut, says("more"), model=replace(SMALL, context_window=window))
    await fixture.agent.prompt("write")
    await fixture.agent.prompt("please continue")

    assert "compaction_start" not in fixture.order
    assert fixture.kinds == ["message"] * 4
    assert "and then" in str(fixture.stream.requests[-1].messages)


@pytest.mark.parametrize("usage", [9_900, 10_020], ids=["cut off", "no room"])
async def test_a_truncated_response_is_kept_when_a_hook_cancels_its_recovery(usage: int) -> None:
    cut = replace(answers("and then", usage), stop_reason="length")
    fixture = CompactionFixture(says("a"), says("b"), cut, says("more"), summaries=[always])
    await filled(fixture)
    cancel = fixture.bus.subscribe(
        SessionBeforeCompactEvent, lambda event: CompactDecision(cancel=True)
    )
    ended = await fixture.agent.prompt("write")
    cancel()

    assert fixture.events(CompactionEnd)[0].aborted
    assert (ended.action, ended.exit_code) == ("stop", None)
    assert "and then" in fixture.shown
    assert "context_edit" not in fixture.kinds


async def test_a_truncated_response_is_restored_when_its_retry_fails() -> None:
    cut = replace(answers("and then", 9_900), stop_reason="length")
    failure = BadRequest("400: no")
    fixture = CompactionFixture(
        says("a"), says("b"), cut, failure, says("more"), summaries=[always]
    )
    await filled(fixture)
    await fixture.agent.prompt("write")
    await fixture.agent.prompt("please continue")

    assert fixture.events(CompactionEnd)[0].will_retry
    assert "and then" in str(fixture.stream.requests[-1].messages)


async def test_a_second_truncated_response_in_a_row_is_kept() -> None:
    first = replace(answers("and then", 9_900), stop_reason="length")
    second = replace(answers("and again", 9_900), stop_reason="length")
    fixture = CompactionFixture(says("a"), says("b"), first, second, summaries=[always])
    await filled(fixture)
    await fixture.agent.prompt("write")

    assert fixture.order.count("compaction_start") == 1
    assert "and then" not in fixture.shown
    assert "and again" in fixture.shown


@pytest.mark.behaviour("when-compaction-is-checked")
async def test_the_threshold_is_checked_after_each_batch_of_tools_within_the_run() -> None:
    step = replace(calls("dig", depth=10), usage=Usage(input=8_500, output=10, total_tokens=8_510))
    fixture = CompactionFixture(
        says("a"), says("b"), step, says("done"), summaries=[always], tools=[dig]
    )
    await filled(fixture)
    await fixture.agent.prompt("dig")

    between = fixture.order[fixture.order.index("compaction_end") + 1 :]
    assert between[:2] == ["turn_start", "message_start"]
    assert fixture.order.count("agent_start") == 1


@pytest.mark.behaviour("when-compaction-is-checked")
async def test_the_threshold_is_checked_before_a_prompt_also_without_a_token_count() -> None:
    fixture = CompactionFixture(
        *[Reply(blocks=(Text(text="x"),), usage=Usage())] * 3,
        summaries=[always],
        options=replace(OPTIONS, enabled=False),
    )
    for _ in range(2):
        await fixture.agent.prompt(LONG * 2)
    fixture.options = OPTIONS
    fixture.emitted.clear()
    await fixture.agent.prompt("next")

    assert fixture.order[:3] == ["compaction_start", "compaction_end", "agent_start"]


@pytest.mark.parametrize("options", [{"enabled": False}, {"strategy": "off"}])
async def test_no_automatic_compaction_happens_when_disabled(
    options: dict[str, object],
) -> None:
    fixture = CompactionFixture(says("a"), answers("b", 9_900), options=replace(OPTIONS, **options))
    for _ in range(2):
        await fixture.agent.prompt(LONG)

    assert "compaction_start" not in fixture.order


async def test_an_overflow_of_a_previous_model_starts_no_compaction() -> None:
    fixture = CompactionFixture(OVERFLOW)

    def switch(event: object) -> None:
        if isinstance(event, TurnEnd):
            fixture.agent.model = replace(SMALL, id="other")

    fixture.agent.subscribe(switch)
    await fixture.agent.prompt("hi")

    assert "compaction_start" not in fixture.order


async def test_auto_continue_prompts_the_model_after_a_compaction() -> None:
    fixture = CompactionFixture(
        says("a"),
        answers("b", 9_000),
        says("more"),
        summaries=[always],
        options=replace(OPTIONS, auto_continue=True),
    )
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt(LONG)

    assert len(fixture.stream.requests) == 3
    assert "Go on with what is still to do" in fixture.shown


@pytest.mark.parametrize("summary", [says(""), says("x" * 400_000)], ids=["failed", "not smaller"])
async def test_auto_continue_stops_after_a_compaction_that_frees_no_tokens(summary: Reply) -> None:
    fixture = CompactionFixture(
        says("a"),
        answers("b", 9_000),
        says("never asked for"),
        summaries=[lambda call: summary],
        options=replace(OPTIONS, auto_continue=True),
    )
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt(LONG)

    assert len(fixture.stream.requests) == 2
    assert fixture.order.count("compaction_start") == 1
    assert "Go on with what is still to do" not in fixture.shown


async def test_auto_continue_stops_after_a_hand_off() -> None:
    class Handing:
        async def compact(self, work: Work) -> Outcome:
            return HandOff(document="All of it.")

    fixture = CompactionFixture(
        says("a"),
        answers("b", 9_000),
        says("never asked for"),
        options=replace(OPTIONS, auto_continue=True, strategy="handing"),
        strategies={"handing": Handing()},
    )
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt(LONG)

    assert len(fixture.stream.requests) == 2
    assert fixture.order.count("compaction_start") == 1


async def test_useless_results_are_left_out_once_the_model_has_seen_them() -> None:
    @tool
    async def look() -> ToolResult:
        """Look for something."""
        return ToolResult(content=(Text(text="nothing at all was found here " * 20),), useless=True)

    fixture = CompactionFixture(calls("look"), calls("look"), says("done"), tools=[look])
    await fixture.agent.prompt("look twice")

    seen = [str(request.messages) for request in fixture.stream.requests]
    assert "nothing at all was found" in seen[1]
    assert seen[2].count("nothing at all was found here " * 20) == 1
    assert "[Uneventful result elided]" in seen[2]


@pytest.mark.parametrize(("seconds", "is_left_out"), [(30, False), (3601, True)])
async def test_useless_results_are_elided_everywhere_after_a_long_idle_time(
    seconds: float, *, is_left_out: bool
) -> None:
    fixture = CompactionFixture(says("yes"), model=replace(SMALL, context_window=100_000))
    nothing, now = "nothing at all was found here " * 20, fixture.clock.now_ms()
    call = ToolCall(id="1", name="look", arguments={})
    for message in (
        UserMessage(content="look"),
        AssistantMessage(content=(call,), stop_reason="toolUse", timestamp=now),
        ToolResultMessage(
            tool_call_id="1", tool_name="look", content=(Text(text=nothing),), useless=True
        ),
        AssistantMessage(content=(Text(text="far " * 9_000),), timestamp=now),
    ):
        fixture.conversation.append(message)

    await fixture.clock.advance(seconds)
    await fixture.agent.prompt("go on")

    seen = str(fixture.stream.requests[-1].messages)
    assert ("[Uneventful result elided]" in seen, nothing in seen) == (is_left_out, not is_left_out)


@pytest.mark.parametrize(
    ("name", "window"),
    [("may_have_worthless", 100_000), ("prune_tool_outputs", SMALL.context_window)],
)
async def test_output_of_a_long_conversation_is_searched_outside_of_the_event_loop(
    name: str, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, threads = getattr(automatic, name), list[threading.Thread]()

    def recorded(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.current_thread())
        return work(*arguments, **options)

    monkeypatch.setattr(automatic, name, recorded)
    monkeypatch.setattr("pi.base.tasks.LARGE", 0)
    model = replace(SMALL, context_window=window)
    fixture = CompactionFixture(*[says("yes")] * 4, model=model)
    old = AssistantMessage(content=(Text(text="far " * 9_000),), timestamp=fixture.clock.now_ms())
    fixture.conversation.append(UserMessage(content="look"))
    fixture.conversation.append(old)
    await fixture.clock.advance(3601)
    await fixture.agent.prompt("go on")

    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.behaviour("escape-stops-compaction")
async def test_an_abort_of_the_run_ends_its_compaction() -> None:
    started = asyncio.Event()
    never = asyncio.Event()

    async def hold(question: SessionBeforeCompactEvent) -> CompactDecision | None:
        started.set()
        await never.wait()
        return None

    fixture = CompactionFixture(says("a"), answers("b", 9_000), summaries=[always])
    fixture.bus.subscribe(SessionBeforeCompactEvent, hold)
    await fixture.agent.prompt(LONG)
    run = asyncio.create_task(fixture.agent.prompt(LONG))
    await started.wait()
    fixture.agent.abort()
    await run

    assert fixture.events(CompactionEnd)[0].aborted
    assert not fixture.compactor.busy
    assert not any(isinstance(entry, Compaction) for entry in fixture.log.branch())


@pytest.mark.behaviour("one-overflow-one-compaction")
async def test_a_complete_response_is_kept_although_it_exceeds_the_window() -> None:
    fixture = CompactionFixture(says("a"), answers("complete", 10_500), summaries=[always])
    await fixture.agent.prompt(LONG)
    await fixture.agent.prompt("short")

    assert [end.reason for end in fixture.events(CompactionEnd)] == ["threshold"]
    assert len(fixture.stream.requests) == 2
    assert "complete" in fixture.shown
