"""Streaming answers: interrupts, aborts and emitted events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pi.agent.events import MessageEnd, MessageStart, MessageUpdate
from pi.agent.policy import Interrupt, Next, Partial, Policy, Request, StopRun
from pi.ai.builder import MessageBuilder
from pi.ai.errors import RateLimited
from pi.ai.event_stream import EventStream, Flush
from pi.ai.events import Delta, TextDelta
from pi.ai.messages import AssistantMessage, Context, Interruption, Text, Thinking, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.testing import call, calls, says, thinks
from pi.base.records import replace
from tests.agent.agents import AgentFixture
from tests.agent.cutting import Cuts, peek


def shown(fixture: AgentFixture) -> str:
    """The text of all deltas that were emitted."""
    events = [
        event.assistant_message_event
        for event in fixture.events
        if isinstance(event, MessageUpdate)
    ]
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


async def test_an_interrupt_ends_the_answer_and_sends_another_request_in_the_same_run() -> None:
    draft = UserMessage(content="mind your words")
    fixture = AgentFixture(
        says("well damn it all"), says("well then"), policies=[Cuts("damn", entries=(draft,))]
    )

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "user", "assistant:stop"]
    cut = fixture.agent.state.messages[1]
    assert (cut.text, cut.error_message) == ("well damn ", "damn!")
    assert cut.interrupt == Interruption(by="Cuts", reason="damn!")
    assert fixture.agent.state.messages[-1].interrupt is UNSET
    assert fixture.emitted.count("agent_start") == 1
    assert shown(fixture) == "well well then"  # a delta that is cut is never shown
    assert fixture.agent.state.error_message is None


async def test_an_interrupt_can_keep_the_answer_without_calls_and_unsigned_thinking() -> None:
    signed = Thinking(thinking="signed", thinking_signature="s")
    reply = thinks("unsigned", signed, call("peek", path="x"), Text(text="one two three"))
    fixture = AgentFixture(reply, says("four"), tools=[peek], policies=[Cuts("two", keep=True)])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["system", "user", "assistant:stop", "assistant:stop"]
    kept = fixture.agent.state.messages[2]
    assert (kept.content, kept.error_message) == ((signed, Text(text="one two ")), UNSET)
    assert kept.interrupt == Interruption(by="Cuts", reason="two!")
    messages = fixture.provider.requests[1].messages
    assert messages[2] == replace(kept, interrupt=UNSET)  # not sent to the model


async def test_an_interrupt_can_name_its_author() -> None:
    fixture = AgentFixture(says("one two"), says("three"), policies=[Cuts("one", by="my-rules")])

    await fixture.agent.prompt("go")

    cut = fixture.agent.state.messages[1]
    assert cut.interrupt == Interruption(by="my-rules", reason="one!")


async def test_an_interrupted_answer_with_calls_only_is_stored_as_aborted() -> None:
    class Cut(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            if answer().tool_calls:
                raise Interrupt("not that", keep=True)

    fixture = AgentFixture(calls("peek", path="x"), says("fine"), tools=[peek], policies=[Cut()])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["system", "user", "assistant:aborted", "assistant:stop"]


async def test_an_interrupted_answer_keeps_no_calls() -> None:
    reply = says("so", call("peek", path="x"), Text(text="oops"))
    fixture = AgentFixture(reply, says("better"), tools=[peek], policies=[Cuts("oops")])

    await fixture.agent.prompt("go")

    assert fixture.agent.state.messages[2].tool_calls == ()
    assert fixture.results == []


async def test_six_interrupts_in_a_row_end_the_run_with_the_reason() -> None:
    fixture = AgentFixture(lambda _: says("word"), policies=[Cuts("word")])

    ended = await fixture.agent.prompt("go")

    assert len(fixture.provider.requests) == 6
    reason = "The answer was cut 6 times in a row: word!"
    last = fixture.agent.state.messages[-1]
    assert (last.stop_reason, last.error_message) == ("error", reason)
    assert ended == Next(action="stop", reason=reason)


async def test_an_uninterrupted_answer_resets_the_count_of_interrupts() -> None:
    class ThreeTimes(Policy):
        seen = 0

        def on_delta(self, delta: Delta, answer: Partial) -> None:
            self.seen += 1
            if self.seen in (1, 2, 3, 5, 6, 7):
                raise Interrupt("again")

    asking = [calls("peek", path="x")] * 8
    fixture = AgentFixture(*asking, says("done"), tools=[peek], policies=[ThreeTimes()])

    await fixture.agent.prompt("go")

    assert fixture.roles.count("assistant:aborted") == 6
    assert fixture.roles.count("assistant:toolUse") == 2


async def test_a_policy_may_stop_a_run_in_the_middle_of_an_answer() -> None:
    class Enough(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            if "two" in answer().text:
                raise StopRun("enough", exit_code=2)

    fixture = AgentFixture(
        says("one two three", call("peek", path="x")), tools=[peek], policies=[Enough()]
    )

    ended = await fixture.agent.prompt("go")

    last = fixture.agent.state.messages[-1]
    assert (last.stop_reason, last.error_message, last.text) == ("aborted", "enough", "one two ")
    assert ended.exit_code == 2


async def test_a_failing_delta_hook_is_logged_once_and_disabled_until_the_next_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Clumsy(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            raise KeyError("oops")

    class Careful(Policy):
        seen = 0

        def on_delta(self, delta: Delta, answer: Partial) -> None:
            self.seen += 1

    careful = Careful()
    fixture = AgentFixture(says("one two"), says("three"), policies=[Clumsy(), careful])

    await fixture.agent.prompt("go")
    await fixture.agent.prompt("on")

    assert caplog.text.count("Clumsy failed during a delta") == 2
    assert careful.seen == 3
    assert shown(fixture) == "one twothree"


async def test_an_abort_keeps_the_text_received_so_far() -> None:
    fixture = AgentFixture(says("one two three"))

    def abort(event: object) -> None:
        if isinstance(event, MessageUpdate) and "two" in shown(fixture):
            fixture.agent.abort()

    fixture.agent.subscribe(abort)
    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted"]
    assert fixture.agent.state.messages[-1].text.startswith("one two")
    assert fixture.agent.state.error_message == "Request was aborted"
    assert fixture.emitted[-4:] == [
        "message_end assistant:aborted",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]


async def test_an_abort_between_the_request_and_its_first_step_ends_the_answer_too() -> None:
    fixture = AgentFixture(says("never heard"))
    requested = asyncio.Event()

    class EmittingPolicy(Policy):
        async def before_request(self, request: Request) -> Request:
            requested.set()
            return request

    fixture.agent.policies = (EmittingPolicy(),)
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await requested.wait()

    fixture.agent.abort()
    await asyncio.wait_for(running, 30)

    assert fixture.roles == ["user", "assistant:aborted"]


@pytest.mark.behaviour("partial-json-stays-inside")
async def test_partial_arguments_are_neither_stored_nor_emitted() -> None:
    def pieces(model: Model, context: Context, options: StreamOptions) -> EventStream:
        async def answer(builder: MessageBuilder, flush: Flush) -> None:
            builder.start()
            builder.tool_call(0, "A", "peek")
            for piece in ('{"pa', 'th": "x', '"}'):
                builder.arguments(0, piece)
                flush()
                await asyncio.sleep(0)
            builder.finish("toolUse")

        return EventStream(MessageBuilder(model, now_ms=5), answer)

    fixture = AgentFixture(stream=pieces, tools=[peek])
    fixture.on("turn_end", fixture.agent.abort)

    await fixture.agent.prompt("go")

    emitted = msgspec.json.decode(
        msgspec.json.encode((fixture.events, fixture.agent.state.messages))
    )
    emitted_calls = list(objects(emitted, "type", "toolCall"))
    assert len(emitted_calls) > 3
    assert all(
        set(each) == {"type", "id", "name", "arguments"}
        and each["arguments"] in ({}, {"path": "x"})
        for each in emitted_calls
    )


def objects(value: Any, key: str, expected: str) -> Iterator[dict[str, Any]]:
    """All JSON objects in ``value`` whose ``key`` is ``expected``."""
    match value:
        case dict():
            if value.get(key) == expected:
                yield value
            for inner in value.values():
                yield from objects(inner, key, expected)
        case list():
            for inner in value:
                yield from objects(inner, key, expected)


async def test_message_start_is_empty_although_the_whole_answer_has_arrived() -> None:
    def whole(model: Model, context: Context, options: StreamOptions) -> EventStream:
        async def answer(builder: MessageBuilder, flush: Flush) -> None:
            builder.start()
            builder.text(0, "all at once")
            builder.finish("stop")

        return EventStream(MessageBuilder(model, now_ms=5), answer)

    fixture = AgentFixture(stream=whole)

    await fixture.agent.prompt("go")

    begun, emitted = (
        event.message
        for event in fixture.events
        if isinstance(event, MessageStart | MessageEnd)
        and isinstance(event.message, AssistantMessage)
    )
    expected = replace(emitted, content=(), stop_reason="pending")
    assert begun == replace(expected, thinking_level=UNSET, duration_ms=UNSET)
    assert (emitted.thinking_level, emitted.duration_ms) == ("off", 0)
    assert emitted.text == "all at once"


async def test_a_request_that_fails_at_once_emits_start_and_end_of_its_error() -> None:
    fixture = AgentFixture(RateLimited("429: slow down"))

    await fixture.agent.prompt("go")

    assert fixture.emitted[4:6] == ["message_start assistant:error", "message_end assistant:error"]
    assert fixture.agent.state.error_message == "429: slow down"


class Rejects(Policy):
    """Interrupts complete answers that contain a word."""

    def __init__(self, word: str, **how: object) -> None:
        self._word = word
        self._how = how

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        if self._word in answer.text:
            raise Interrupt(f"{self._word}!", **self._how)  # type: ignore[arg-type]
        return answer


async def test_a_complete_answer_can_be_rejected_before_its_calls_run() -> None:
    fixture = AgentFixture(
        says("bad", call("peek", path="a")), says("good"), policies=[Rejects("bad")]
    )

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "assistant:stop"]
    assert "tool_execution_start" not in fixture.emitted
    assert fixture.emitted.count("agent_start") == 1


async def test_a_rejected_answer_may_be_kept() -> None:
    fixture = AgentFixture(says("bad"), says("good"), policies=[Rejects("bad", keep=True)])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop", "assistant:stop"]


async def test_the_first_interrupt_of_an_answer_wins() -> None:
    fixture = AgentFixture(
        says("bad"), says("good"), policies=[Rejects("bad"), Rejects("ba", keep=True)]
    )

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "assistant:stop"]


async def test_a_run_ends_after_six_rejected_answers_in_a_row() -> None:
    fixture = AgentFixture(*[says("bad")] * 9, policies=[Rejects("bad")])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", *["assistant:aborted"] * 5, "assistant:error"]


class AtOnce:
    """A provider that sends a whole answer in one piece."""

    async def __call__(self, builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        for word in ("one ", "two ", "three ", "four"):
            builder.text(0, word)
        builder.text(1, "another block")
        builder.finish("stop")
        flush()


async def test_an_interrupt_of_an_answer_that_arrived_at_once_keeps_only_the_emitted_text() -> None:
    class CutsAtTwo(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            if isinstance(delta, TextDelta) and "two" in delta.delta:
                raise Interrupt("two!", keep=True)

    scripted = AgentFixture(says("good")).provider
    answers = [AtOnce()]

    def ask(model: Model, context: Context, options: StreamOptions) -> EventStream:
        if answers:
            return EventStream(MessageBuilder(model, now_ms=0), answers.pop())
        return scripted(model, context, options)

    fixture = AgentFixture(stream=ask, policies=[CutsAtTwo()])

    await fixture.agent.prompt("go")

    cut = fixture.agent.state.messages[1]
    assert isinstance(cut, AssistantMessage)
    assert cut.content == (Text(text="one two "),)
