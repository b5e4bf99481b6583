from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pi.agent.conversation import MemoryConversation
from pi.agent.errors import PromptRefused
from pi.agent.events import AgentEnd
from pi.agent.policy import DECIDING_SECONDS, Boundary, Draft, Next, Policy, Request, StopRun
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolResult
from pi.ai.errors import RateLimited
from pi.ai.messages import Json, UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.testing import calls, says
from pi.ai.wire_support.handoff import prepare, same_id
from pi.base.records import replace
from tests.agent.agents import AgentFixture, tasks_left

RUN = ["agent_start", "turn_start"]
PROMPT = ["message_start user", "message_end user"]
ANSWER = ["message_start assistant:pending", "message_end assistant:stop", "turn_end", "agent_end"]
FAILURE = ["message_start assistant:error", "message_end assistant:error", "turn_end", "agent_end"]


class At(Policy):
    """Decides at one kind of boundary, as often as it has decisions."""

    def __init__(self, kind: str, *decisions: Next) -> None:
        self._kind = kind
        self._decisions = list(decisions)
        self.seen: list[Boundary] = []

    async def at_boundary(self, at: Boundary) -> Next:
        if at.kind != self._kind:
            return at.next
        self.seen.append(at)
        return self._decisions.pop(0) if self._decisions else at.next


class Public(MemoryConversation):
    """Publishes its drafts."""

    def add(self, draft: Draft) -> Json | None:
        super().add(draft)
        return {"type": "draft"}


def note(text: str) -> UserMessage:
    return UserMessage(content=text)


def doing(done: list[str], what: str) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        await asyncio.sleep(0)
        done.append(what)

    return work


# Before a run ------------------------------------------------------------------------------------


async def test_drafts_are_stored_and_preparations_run_before_a_prompt() -> None:
    done: list[str] = []
    first = At("prompt", Next(entries=(note("draft"),), prepare=doing(done, "prepared")))
    fixture = AgentFixture(says("ok"), policies=[first], conversation=Public())
    fixture.on("agent_start", lambda: done.append("started"))

    await fixture.agent.prompt("go")

    assert fixture.emitted == ["entry_appended", *RUN, *PROMPT, *ANSWER, "agent_settled"]
    assert done == ["prepared", "started"]
    assert fixture.roles == ["user", "user", "assistant:stop"]


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (Next(action="stop", reason="not today"), "not today"),
        (Next(action="stop"), "The prompt was rejected by a policy."),
    ],
)
async def test_a_rejected_prompt_emits_and_stores_nothing(decision: Next, reason: str) -> None:
    fixture = AgentFixture(says("ok"), policies=[At("prompt", decision)])

    with pytest.raises(PromptRefused, match=reason):
        await fixture.agent.prompt("go")

    assert (fixture.emitted, fixture.roles) == ([], [])
    assert not fixture.agent.state.is_streaming
    await fixture.agent.prompt("tomorrow")
    assert fixture.roles == ["user", "assistant:stop"]


async def test_a_prompt_can_be_rejected_before_or_by_its_preparation() -> None:
    done: list[str] = []

    async def stops() -> None:
        raise StopRun("too expensive")

    refused = Next(action="stop", prepare=doing(done, "unexpected"))
    fixture = AgentFixture(policies=[At("prompt", refused, Next(prepare=stops))])

    with pytest.raises(PromptRefused):
        await fixture.agent.prompt("go")
    with pytest.raises(PromptRefused, match="too expensive"):
        await fixture.agent.prompt("go")

    assert done == []


# Another run -------------------------------------------------------------------------------------


class Retry(Policy):
    """Retries a retryable error in a new run."""

    def __init__(self, prepare: Callable[[], Awaitable[None]]) -> None:
        self._prepare = prepare

    async def at_boundary(self, at: Boundary) -> Next:
        if at.kind != "turn" or at.error is None or not at.error.retryable:
            return at.next
        return Next(action="again", new_run=True, prepare=self._prepare)


async def test_a_retry_run_is_prepared_after_the_end_of_the_first_run() -> None:
    done: list[str] = []
    fixture = AgentFixture(RateLimited("slow"), says("ok"), policies=[Retry(doing(done, "waited"))])
    fixture.on("agent_end", lambda: done.append("closed"))

    await fixture.agent.prompt("go")

    assert fixture.emitted == [*RUN, *PROMPT, *FAILURE, *RUN, *ANSWER, "agent_settled"]
    assert done == ["closed", "waited"]
    ends = [event for event in fixture.events if isinstance(event, AgentEnd)]
    assert [end.will_retry for end in ends] == [True, False]
    assert [len(end.messages) for end in ends] == [2, 1]
    assert fixture.agent.state.error_message is None


@pytest.mark.behaviour("abandoned-attempts-stay-visible")
async def test_failed_attempts_remain_in_the_transcript_but_are_not_sent_to_the_model() -> None:
    fixture = AgentFixture(
        replace(says("half an answer"), error="the line is dead"),
        says("ok"),
        policies=[At("turn", Next(action="again", new_run=True))],
    )

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:error", "assistant:stop"]
    sent = prepare(fixture.provider.requests[1].messages, FAUX_MODEL, same_id)
    assert [type(message).__name__ for message in sent] == ["UserMessage"]


async def test_an_abort_while_a_retry_is_prepared_settles_the_agent_at_once() -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    settle = At("settle")
    fixture = AgentFixture(RateLimited("slow"), says("never"), policies=[Retry(forever), settle])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()

    fixture.agent.abort()
    await running

    assert fixture.emitted == [*RUN, *PROMPT, *FAILURE, "agent_settled"]
    assert [at.outcome for at in settle.seen] == ["aborted"]
    assert await tasks_left() == set()


@pytest.mark.behaviour("failed-retry-ends-retrying")
async def test_a_preparation_that_fails_does_not_leave_the_agent_hanging() -> None:
    async def fails() -> None:
        raise OSError("no timer")

    fixture = AgentFixture(RateLimited("slow"), says("ok"), policies=[Retry(fails)])

    await fixture.agent.prompt("go")

    assert fixture.emitted[-1] == "agent_settled"
    assert not fixture.agent.state.is_streaming


async def test_a_preparation_may_stop_the_next_run() -> None:
    async def stops() -> None:
        raise StopRun("out of time", exit_code=4)

    fixture = AgentFixture(RateLimited("slow"), says("never"), policies=[Retry(stops)])

    ended = await fixture.agent.prompt("go")

    assert ended == Next(action="stop", reason="out of time", exit_code=4)
    assert fixture.emitted == [*RUN, *PROMPT, *FAILURE, "agent_settled"]


# When a run has ended ----------------------------------------------------------------------------


async def test_a_settle_decision_can_add_drafts_and_start_another_run() -> None:
    done: list[str] = []
    again = Next(action="again", entries=(note("one more"),), prepare=doing(done, "prepared"))
    settle = At("settle", again)
    fixture = AgentFixture(says("one"), says("two"), policies=[settle], conversation=Public())

    await fixture.agent.prompt("go")

    assert fixture.emitted == [
        *RUN,
        *PROMPT,
        *ANSWER,
        "entry_appended",
        *RUN,
        *ANSWER,
        "agent_settled",
    ]
    assert done == ["prepared"]
    assert [(at.outcome, at.answer and at.answer.text) for at in settle.seen] == [
        ("completed", "one"),
        ("completed", "two"),
    ]


@pytest.mark.behaviour("idle-comes-last")
async def test_settling_may_need_time_before_the_agent_is_idle() -> None:
    done: list[str] = []
    settle = At("settle", Next(prepare=doing(done, "compacted")))
    fixture = AgentFixture(says("one"), policies=[settle])
    fixture.on("agent_settled", lambda: done.append("idle"))

    await fixture.agent.prompt("go")

    assert done == ["compacted", "idle"]
    assert fixture.emitted == [*RUN, *PROMPT, *ANSWER, "agent_settled"]


async def test_the_settle_boundary_has_the_error_of_the_run() -> None:
    settle = At("settle")
    failure = RateLimited("slow")
    fixture = AgentFixture(failure, policies=[settle])

    await fixture.agent.prompt("go")

    assert [(at.outcome, at.error) for at in settle.seen] == [("error", failure)]


async def test_after_an_abort_the_decision_again_is_ignored_but_its_drafts_are_stored() -> None:
    settle = At("settle", Next(action="again", entries=(note("kept"),)))
    fixture = AgentFixture(says("one two"), says("never"), policies=[settle])
    fixture.on("message_start assistant:pending", fixture.agent.abort)

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "user"]
    assert fixture.emitted.count("agent_start") == 1


async def test_a_stopped_run_is_not_restarted_and_its_drafts_are_stored_once() -> None:
    stop = At("turn", Next(action="stop", reason="enough", exit_code=3, entries=(note("bye"),)))
    settle = At("settle", Next(action="again", entries=(note("again"),)))
    fixture = AgentFixture(says("one"), says("never"), policies=[stop, settle])

    ended = await fixture.agent.prompt("go")

    assert (ended.action, ended.reason, ended.exit_code) == ("stop", "enough", 3)
    assert fixture.roles == ["user", "assistant:stop", "user", "user"]
    assert settle.seen[0].next == Next(action="stop", reason="enough", exit_code=3)


async def test_an_aborted_run_is_settled_within_a_deadline() -> None:
    class Slow(Policy):
        async def at_boundary(self, at: Boundary) -> Next:
            if at.kind == "settle":
                settling.set()
                await asyncio.Event().wait()
            return at.next

    settling = asyncio.Event()
    fixture = AgentFixture(says("one two"), policies=[Slow()])
    fixture.on("message_start assistant:pending", fixture.agent.abort)
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await settling.wait()

    await fixture.clock.advance(DECIDING_SECONDS - 0.1)
    assert not running.done()
    await fixture.clock.advance(0.2)
    await running

    assert fixture.emitted[-1] == "agent_settled"
    assert await tasks_left() == set()


async def test_an_abort_cancels_a_run_that_is_prepared_after_settling() -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    settle = At("settle", Next(action="again", prepare=forever))
    fixture = AgentFixture(says("one"), says("never"), policies=[settle])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()

    fixture.agent.abort()
    await running

    assert fixture.emitted == [*RUN, *PROMPT, *ANSWER, "agent_settled"]


async def test_an_agent_becomes_idle_although_its_last_drafts_cannot_be_stored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(MemoryConversation):
        def add(self, draft: Draft) -> Json | None:
            raise OSError("disk full")

    settle = At("settle", Next(entries=(note("lost"),)))
    fixture = AgentFixture(says("one"), policies=[settle], conversation=Full())

    await fixture.agent.prompt("go")

    assert fixture.emitted[-1] == "agent_settled"
    assert "could not be stored" in caplog.text


# What was queued too late ------------------------------------------------------------------------


@pytest.mark.behaviour("idle-comes-last")
@pytest.mark.parametrize("queue", ["steer", "follow_up"])
async def test_messages_queued_at_the_end_of_a_run_are_answered_before_the_agent_is_idle(
    queue: str,
) -> None:
    fixture = AgentFixture(says("one"), says("two"), says("three"))

    async def too_late() -> None:
        await getattr(fixture.agent, queue)("a")
        await getattr(fixture.agent, queue)("b")

    fixture.on("agent_end", too_late)
    await fixture.agent.prompt("go")

    late = [*RUN, "queue_update", *PROMPT, *ANSWER[:-1]]
    on = ["turn_start", "queue_update", *PROMPT, *ANSWER]
    assert fixture.emitted == [
        *RUN,
        *PROMPT,
        *ANSWER,
        "queue_update",
        "queue_update",
        *late,
        *on,
        "agent_settled",
    ]
    assert not fixture.agent.inbox


async def test_a_message_queued_while_a_tool_ends_the_run_is_answered_in_another_run() -> None:
    @tool
    async def finish() -> ToolResult:
        """End."""
        await fixture.agent.steer("wait!")
        return ToolResult.of("bye", terminate=True)

    fixture = AgentFixture(calls("finish"), says("yes?"), tools=[finish])

    await fixture.agent.prompt("go")

    assert fixture.roles[-2:] == ["user", "assistant:stop"]
    assert fixture.emitted.count("agent_start") == 2


@pytest.mark.parametrize("how", ["fails", "is stopped"])
async def test_queued_messages_remain_queued_when_a_run_fails_or_is_stopped(how: str) -> None:
    class Stops(Policy):
        async def before_request(self, request: Request) -> Request:
            raise StopRun("enough")

    policies = [Stops()] if how == "is stopped" else []
    fixture = AgentFixture(RateLimited("slow"), policies=policies)
    fixture.on("turn_end", lambda: fixture.agent.steer("wait!"))

    await fixture.agent.prompt("go")

    assert len(fixture.agent.inbox.steering) == 1
    assert fixture.emitted.count("agent_start") == 1
