from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pi.agent.events import MessageEnd, MessageStart, MessageUpdate
from pi.agent.policy import Boundary, Interrupt, Next, Partial, Policy, Request, StopRun
from pi.agent.tool_forms import tool
from pi.ai.builder import MessageBuilder
from pi.ai.errors import RateLimited
from pi.ai.events import Delta, TextDelta
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Interruption,
    SystemMessage,
    Text,
    Thinking,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream, Flush
from pi.base.records import UNSET, replace
from pi.testing import call, calls, says, thinks
from tests.agent.agents import Stage


@tool
def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


def shown(stage: Stage) -> str:
    """All words that listeners have seen."""
    events = [
        event.assistant_message_event for event in stage.events if isinstance(event, MessageUpdate)
    ]
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


# Before the request ------------------------------------------------------------------------------


async def test_a_policy_may_change_a_request_and_nothing_of_it_is_stored() -> None:
    class Note(Policy):
        async def before_request(self, request: Request) -> Request:
            note = UserMessage(content="psst")
            return replace(request, messages=(*request.messages, note), thinking="high")

    stage = Stage(says("ok"), policies=[Note()])

    await stage.agent.prompt("go")

    asked = stage.provider.requests[0]
    assert asked.messages[-1] == UserMessage(content="psst")
    assert asked.options.reasoning == "high"
    assert stage.roles == ["user", "assistant:stop"]


async def test_a_policy_may_choose_model_tools_and_tool_choice_for_one_request() -> None:
    class Careful(Policy):
        async def before_request(self, request: Request) -> Request:
            other = replace(request.model, id="other")
            return replace(request, model=other, tools=(), tool_choice="none")

    stage = Stage(says("ok"), tools=[peek], policies=[Careful()])

    await stage.agent.prompt("go")

    asked = stage.provider.requests[0]
    assert (asked.model.id, asked.options.tool_choice) == ("other", "none")
    assert asked.messages[-1] == SystemMessage(
        content="", tools_removed=({"name": "peek"},), timestamp=stage.clock.now_ms()
    )
    assert stage.roles == ["system", "user", "assistant:stop"]


async def test_a_policy_cannot_drop_the_prompt(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(Policy):
        async def before_request(self, request: Request) -> Request:
            return replace(request, messages=request.messages[-1:])

    stage = Stage(says("ok"), system_prompt="Be brief.", policies=[Forgetful()])

    await stage.agent.prompt("go")

    assert [type(message) for message in stage.provider.requests[0].messages] == [
        SystemMessage,
        UserMessage,
    ]
    assert "Forgetful dropped the prompt" in caplog.text


async def test_a_policy_may_stop_a_run_before_a_request() -> None:
    class Broke(Policy):
        async def before_request(self, request: Request) -> Request:
            raise StopRun("out of money", exit_code=3)

    stage = Stage(policies=[Broke()])

    ended = await stage.agent.prompt("go")

    assert ended == Next(action="stop", reason="out of money", exit_code=3)
    assert stage.provider.requests == []
    assert stage.agent.state.messages[-1].error_message == "out of money"
    assert stage.told[-5:] == [
        "message_start assistant:aborted",
        "message_end assistant:aborted",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]


async def test_an_abort_while_a_policy_looks_at_the_request_asks_nobody() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def before_request(self, request: Request) -> Request:
            begun.set()
            await asyncio.Event().wait()
            return request

    stage = Stage(says("never"), policies=[Slow()])
    running = asyncio.create_task(stage.agent.prompt("go"))
    await begun.wait()

    stage.agent.abort()
    await running

    assert stage.provider.requests == []
    assert stage.roles == ["user", "assistant:error"]
    assert stage.agent.state.messages[-1].error_message == "This operation was aborted"


async def test_a_policy_that_aborts_before_the_request_is_not_cut_and_nobody_is_asked() -> None:
    finished: list[str] = []

    class Gives(Policy):
        async def before_request(self, request: Request) -> Request:
            stage.agent.abort()
            await asyncio.sleep(0)
            finished.append("up")
            return request

    stage = Stage(says("never"), policies=[Gives()])

    await stage.agent.prompt("go")

    assert finished == ["up"]
    assert stage.provider.requests == []


# While it streams --------------------------------------------------------------------------------


class Cuts(Policy):
    """Interrupts once the answer holds a word."""

    def __init__(self, word: str, **how: object) -> None:
        self._word = word
        self._how = how

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        if self._word in answer().text:
            raise Interrupt(f"{self._word}!", **self._how)  # type: ignore[arg-type]


async def test_an_interrupt_cuts_the_answer_and_asks_again_in_the_same_run() -> None:
    draft = UserMessage(content="mind your words")
    stage = Stage(
        says("well damn it all"), says("well then"), policies=[Cuts("damn", entries=(draft,))]
    )

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:aborted", "user", "assistant:stop"]
    cut = stage.agent.state.messages[1]
    assert (cut.text, cut.error_message) == ("well damn ", "damn!")
    assert cut.interrupt == Interruption(by="Cuts", reason="damn!")
    assert stage.agent.state.messages[-1].interrupt is UNSET
    assert stage.told.count("agent_start") == 1
    assert shown(stage) == "well well then"  # a delta that is cut is never shown
    assert stage.agent.state.error_message is None


async def test_an_interrupt_may_keep_what_was_said_without_calls_and_unsigned_thoughts() -> None:
    signed = Thinking(thinking="signed", thinking_signature="s")
    reply = thinks("unsigned", signed, call("peek", path="x"), Text(text="one two three"))
    stage = Stage(reply, says("four"), tools=[peek], policies=[Cuts("two", keep=True)])

    await stage.agent.prompt("go")

    assert stage.roles == ["system", "user", "assistant:stop", "assistant:stop"]
    kept = stage.agent.state.messages[2]
    assert (kept.content, kept.error_message) == ((signed, Text(text="one two ")), UNSET)
    assert kept.interrupt == Interruption(by="Cuts", reason="two!")
    asked = stage.provider.requests[1].messages
    assert asked[2] == replace(kept, interrupt=UNSET)  # the model is not told


async def test_an_interrupt_may_say_who_has_cut_the_answer() -> None:
    stage = Stage(says("one two"), says("three"), policies=[Cuts("one", by="my-rules")])

    await stage.agent.prompt("go")

    cut = stage.agent.state.messages[1]
    assert cut.interrupt == Interruption(by="my-rules", reason="one!")


async def test_an_answer_of_which_nothing_can_be_kept_is_dropped() -> None:
    class Cut(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            if answer().tool_calls:
                raise Interrupt("not that", keep=True)

    stage = Stage(calls("peek", path="x"), says("fine"), tools=[peek], policies=[Cut()])

    await stage.agent.prompt("go")

    assert stage.roles == ["system", "user", "assistant:aborted", "assistant:stop"]


async def test_a_cut_answer_keeps_no_call_that_never_ran() -> None:
    reply = says("so", call("peek", path="x"), Text(text="oops"))
    stage = Stage(reply, says("better"), tools=[peek], policies=[Cuts("oops")])

    await stage.agent.prompt("go")

    assert stage.agent.state.messages[2].tool_calls == ()
    assert stage.results == []


async def test_cutting_again_and_again_ends_the_run_and_says_why() -> None:
    stage = Stage(lambda _: says("word"), policies=[Cuts("word")])

    ended = await stage.agent.prompt("go")

    assert len(stage.provider.requests) == 6
    reason = "The answer was cut 6 times in a row: word!"
    last = stage.agent.state.messages[-1]
    assert (last.stop_reason, last.error_message) == ("error", reason)
    assert ended == Next(action="stop", reason=reason)


async def test_an_answer_that_is_not_cut_starts_the_count_anew() -> None:
    class ThreeTimes(Policy):
        seen = 0

        def on_delta(self, delta: Delta, answer: Partial) -> None:
            self.seen += 1
            if self.seen in (1, 2, 3, 5, 6, 7):
                raise Interrupt("again")

    asking = [calls("peek", path="x")] * 8
    stage = Stage(*asking, says("done"), tools=[peek], policies=[ThreeTimes()])

    await stage.agent.prompt("go")

    assert stage.roles.count("assistant:aborted") == 6
    assert stage.roles.count("assistant:toolUse") == 2


async def test_a_policy_may_stop_a_run_in_the_middle_of_an_answer() -> None:
    class Enough(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            if "two" in answer().text:
                raise StopRun("enough", exit_code=2)

    stage = Stage(says("one two three", call("peek", path="x")), tools=[peek], policies=[Enough()])

    ended = await stage.agent.prompt("go")

    last = stage.agent.state.messages[-1]
    assert (last.stop_reason, last.error_message, last.text) == ("aborted", "enough", "one two ")
    assert ended.exit_code == 2


async def test_a_watcher_that_fails_is_reported_once_and_off_until_the_next_answer(
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
    stage = Stage(says("one two"), says("three"), policies=[Clumsy(), careful])

    await stage.agent.prompt("go")
    await stage.agent.prompt("on")

    assert caplog.text.count("Clumsy failed at a delta") == 2
    assert careful.seen == 3
    assert shown(stage) == "one twothree"


async def test_an_abort_keeps_what_had_arrived() -> None:
    stage = Stage(says("one two three"))

    def abort(event: object) -> None:
        if isinstance(event, MessageUpdate) and "two" in shown(stage):
            stage.agent.abort()

    stage.agent.subscribe(abort)
    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:aborted"]
    assert stage.agent.state.messages[-1].text.startswith("one two")
    assert stage.agent.state.error_message == "Request was aborted"
    assert stage.told[-4:] == [
        "message_end assistant:aborted",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]


async def test_an_abort_between_the_request_and_its_first_step_ends_the_answer_too() -> None:
    stage = Stage(says("never heard"))
    asked = asyncio.Event()

    class Tells(Policy):
        async def before_request(self, request: Request) -> Request:
            asked.set()
            return request

    stage.agent.policies = (Tells(),)
    running = asyncio.create_task(stage.agent.prompt("go"))
    await asked.wait()

    stage.agent.abort()
    await asyncio.wait_for(running, 30)

    assert stage.roles == ["user", "assistant:aborted"]


@pytest.mark.trap(90)
async def test_pieces_of_arguments_reach_neither_what_is_kept_nor_what_is_told() -> None:
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

    stage = Stage(stream=pieces, tools=[peek])
    stage.on("turn_end", stage.agent.abort)

    await stage.agent.prompt("go")

    told = msgspec.json.decode(msgspec.json.encode((stage.events, stage.agent.state.messages)))
    calls_told = list(objects(told, "type", "toolCall"))
    assert len(calls_told) > 3
    assert all(
        set(each) == {"type", "id", "name", "arguments"}
        and each["arguments"] in ({}, {"path": "x"})
        for each in calls_told
    )


def objects(value: Any, key: str, wanted: str) -> Iterator[dict[str, Any]]:
    """All JSON objects in ``value`` that say ``wanted`` under ``key``."""
    match value:
        case dict():
            if value.get(key) == wanted:
                yield value
            for inner in value.values():
                yield from objects(inner, key, wanted)
        case list():
            for inner in value:
                yield from objects(inner, key, wanted)


async def test_an_answer_begins_empty_although_all_of_it_has_come_already() -> None:
    def whole(model: Model, context: Context, options: StreamOptions) -> EventStream:
        async def answer(builder: MessageBuilder, flush: Flush) -> None:
            builder.start()
            builder.text(0, "all at once")
            builder.finish("stop")

        return EventStream(MessageBuilder(model, now_ms=5), answer)

    stage = Stage(stream=whole)

    await stage.agent.prompt("go")

    begun, told = (
        event.message
        for event in stage.events
        if isinstance(event, MessageStart | MessageEnd)
        and isinstance(event.message, AssistantMessage)
    )
    assert begun == replace(told, content=(), stop_reason="pending")
    assert told.text == "all at once"


async def test_an_answer_that_never_began_is_told_whole() -> None:
    stage = Stage(RateLimited("429: slow down"))

    await stage.agent.prompt("go")

    assert stage.told[4:6] == ["message_start assistant:error", "message_end assistant:error"]
    assert stage.agent.state.error_message == "429: slow down"


# After the answer --------------------------------------------------------------------------------


class Shout(Policy):
    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        return replace(answer, content=(Text(text=answer.text.upper()),))


async def test_an_answer_is_changed_before_it_is_stored_and_told() -> None:
    stage = Stage(says("hello"), policies=[Shout()])

    await stage.agent.prompt("go")

    assert stage.agent.state.messages[-1].text == "HELLO"


async def test_failed_and_cut_answers_are_shown_to_policies_and_aborted_ones_are_not() -> None:
    seen: list[str] = []

    class Sees(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            seen.append(answer.stop_reason)
            return answer

    stage = Stage(RateLimited("slow"), says("bad"), says("never"), policies=[Sees(), Cuts("bad")])

    await stage.agent.prompt("fails")
    stage.on("message_start assistant:pending", lambda: None)
    stage.on("turn_end", stage.agent.abort)
    await stage.agent.prompt("is cut")
    stage.on("message_start assistant:pending", stage.agent.abort)
    await stage.agent.prompt("is aborted")

    assert seen == ["error", "aborted"]


async def test_a_policy_may_stop_a_run_after_an_answer_and_its_calls_do_not_run() -> None:
    class Enough(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            raise StopRun("enough")

    stage = Stage(calls("peek", path="x"), tools=[peek], policies=[Enough(), Shout()])

    ended = await stage.agent.prompt("go")

    assert stage.roles == ["system", "user", "assistant:aborted"]
    assert stage.agent.state.messages[-1].error_message == "enough"
    assert ended == Next(action="stop", reason="enough")


async def test_an_abort_while_a_policy_looks_at_an_answer_leaves_it_as_it_was() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            begun.set()
            await asyncio.Event().wait()
            return answer

    stage = Stage(says("hello"), policies=[Slow(), Shout()])
    running = asyncio.create_task(stage.agent.prompt("go"))
    await begun.wait()

    stage.agent.abort()
    await running

    assert stage.roles == ["user", "assistant:stop"]
    assert stage.agent.state.messages[-1].text == "hello"


async def test_a_hook_that_fails_is_reported_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Clumsy(Policy):
        async def before_request(self, request: Request) -> Request:
            raise KeyError("oops")

        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            raise KeyError("oops")

        async def at_boundary(self, at: Boundary) -> Next:
            raise KeyError("oops")

    stage = Stage(says("ok"), policies=[Clumsy()])

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:stop"]
    assert caplog.text.count("Clumsy failed") == 5
