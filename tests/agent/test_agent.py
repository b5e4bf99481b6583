from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from pi.agent.agent import Agent, AgentState
from pi.agent.conversation import AgentMessage, MemoryConversation
from pi.agent.errors import AgentBusy, CannotContinue
from pi.agent.events import AgentEvent, EntryAppended, MessageUpdate, QueueUpdate
from pi.agent.policy import Next, Policy, Request
from pi.agent.tool_forms import tool
from pi.ai.errors import ProviderError
from pi.ai.events import TextDelta
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.request import StreamOptions
from pi.base.clock import SystemClock
from pi.base.records import Record
from pi.testing import calls, says
from pi.testing.streams import ScriptedStream
from tests.agent.agents import Stage, tasks_left

PICTURE = Image(data="aGk=", mime_type="image/png")


class Notice(Record, tag_field="role", tag="notice"):
    """A message of an application's own."""

    text: str


def convert(messages: Sequence[AgentMessage]) -> Sequence[Message]:
    return [
        UserMessage(content=message.text) if isinstance(message, Notice) else message
        for message in messages
    ]


# Asking ------------------------------------------------------------------------------------------


async def test_a_prompt_is_a_text_with_pictures_a_message_or_several() -> None:
    stage = Stage(says("1"), says("2"), says("3"))
    now = stage.clock.now_ms()

    await stage.agent.prompt("look", [PICTURE])
    await stage.agent.prompt(UserMessage(content="one"))
    await stage.agent.prompt([UserMessage(content="two"), UserMessage(content="three")])

    said = [m for m in stage.agent.state.messages if isinstance(m, UserMessage)]
    assert said == [
        UserMessage(content=(Text(text="look"), PICTURE), timestamp=now),
        UserMessage(content="one"),
        UserMessage(content="two"),
        UserMessage(content="three"),
    ]


async def test_an_agent_needs_only_a_stream_and_a_model() -> None:
    stream = ScriptedStream(says("hello"))
    agent = Agent(stream, model=FAUX_MODEL)
    before = SystemClock().now_ms()

    ended = await agent.prompt("hi")

    assert ended == Next()
    assert agent.state.messages[-1].text == "hello"
    assert agent.state.messages[0].timestamp >= before


async def test_options_go_with_every_request() -> None:
    options = StreamOptions(session_id="s", tool_choice="none", temperature=0.5)
    stage = Stage(says("ok"), options=options, thinking_level="low")

    await stage.agent.prompt("go")

    asked = stage.provider.requests[0].options
    assert (asked.session_id, asked.tool_choice, asked.temperature, asked.reasoning) == (
        "s",
        "none",
        0.5,
        "low",
    )


async def test_continuing_answers_what_is_there() -> None:
    stage = Stage(says("ok"), conversation=MemoryConversation(UserMessage(content="hello")))

    await stage.agent.continue_()

    assert stage.roles == ["user", "assistant:stop"]
    assert stage.told.count("message_start user") == 0


async def test_continuing_after_the_result_of_a_tool_is_possible() -> None:
    result = ToolResultMessage(tool_call_id="A", tool_name="peek", content=())
    stage = Stage(says("ok"), conversation=MemoryConversation(UserMessage(content="x"), result))

    await stage.agent.continue_()

    assert stage.roles[-1] == "assistant:stop"


async def test_a_message_that_converts_to_a_question_can_be_continued() -> None:
    log = MemoryConversation(Notice(text="saved"))
    stage = Stage(says("ok"), conversation=log, convert_to_llm=convert)

    await stage.agent.continue_()

    assert stage.provider.requests[0].messages == (UserMessage(content="saved"),)


@pytest.mark.parametrize(
    "messages", [(), (UserMessage(content="x"), AssistantMessage()), (Notice(text="saved"),)]
)
async def test_there_is_nothing_to_continue_after_an_answer_or_without_a_question(
    messages: tuple[Any, ...],
) -> None:
    stage = Stage(says("never"), conversation=MemoryConversation(*messages))

    with pytest.raises(CannotContinue):
        await stage.agent.continue_()

    assert stage.told == []


async def test_steering_an_empty_conversation_does_not_start_anything() -> None:
    stage = Stage(says("never"))

    await stage.agent.steer("hello")
    await stage.agent.wait_for_idle()

    assert stage.provider.requests == []
    assert len(stage.agent.inbox.steering) == 1


async def test_queues_are_told_whenever_they_change_and_can_be_taken_back() -> None:
    stage = Stage()
    message = UserMessage(content="b")

    await stage.agent.steer("a", [PICTURE])
    await stage.agent.follow_up(message)
    taken = await stage.agent.clear_queue()

    assert stage.events == [
        QueueUpdate(steering=("a",)),
        QueueUpdate(steering=("a",), follow_up=("b",)),
        QueueUpdate(),
    ]
    now = stage.clock.now_ms()
    steered = UserMessage(content=(Text(text="a"), PICTURE), timestamp=now)
    assert taken == ((steered,), (message,))


# One run at a time -------------------------------------------------------------------------------


class Hold:
    """Holds a run at an event until the test lets it go on."""

    def __init__(self, stage: Stage, point: str = "message_start assistant:pending") -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        stage.on(point, self._wait)

    async def _wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()


@pytest.mark.trap(81)
async def test_a_second_prompt_is_refused_while_one_is_answered() -> None:
    stage = Stage(says("one"), says("two"))
    hold = Hold(stage)
    running = asyncio.create_task(stage.agent.prompt("first"))
    await hold.reached.wait()

    with pytest.raises(AgentBusy) as refused:
        await stage.agent.prompt("second")
    with pytest.raises(AgentBusy):
        await stage.agent.continue_()
    hold.go_on.set()
    await running

    assert "steer() or follow_up()" in refused.value.explain()
    assert stage.roles == ["user", "assistant:stop"]
    await stage.agent.prompt("third")
    assert stage.roles == ["user", "assistant:stop"] * 2


@pytest.mark.trap(92)
async def test_a_running_agent_is_not_reset_and_keeps_its_conversation() -> None:
    stage = Stage(says("one"))
    hold = Hold(stage)
    running = asyncio.create_task(stage.agent.prompt("first"))
    await hold.reached.wait()
    kept = stage.agent.conversation

    with pytest.raises(AgentBusy):
        stage.agent.reset()
    with pytest.raises(AgentBusy):
        stage.agent.conversation = MemoryConversation()
    hold.go_on.set()
    await running

    assert stage.agent.conversation is kept


async def test_resetting_forgets_conversation_queues_and_error_but_not_prompt_and_tools() -> None:
    stage = Stage(ProviderError("no"), says("ok"), system_prompt="Be brief.")
    await stage.agent.prompt("first")
    await stage.agent.steer("later")
    elsewhere = MemoryConversation(UserMessage(content="old"))

    stage.agent.reset()

    assert stage.agent.state == AgentState(
        system_prompt="Be brief.",
        model=FAUX_MODEL,
        thinking_level="off",
        tools=(),
        messages=(),
        is_streaming=False,
        streaming_message=None,
        pending_tool_calls=frozenset(),
        error_message=None,
    )
    assert not stage.agent.inbox
    stage.agent.reset(elsewhere)
    await stage.agent.prompt("new")
    assert list(elsewhere.messages()) == list(stage.agent.state.messages)
    assert stage.roles == ["user", "system", "user", "assistant:stop"]


async def test_an_empty_conversation_is_used_and_not_replaced() -> None:
    class Countable(MemoryConversation):
        def __len__(self) -> int:
            return len(self.messages())

    log = Countable()
    stage = Stage(says("ok"), conversation=log)

    await stage.agent.prompt("go")

    assert len(log) == 2


@pytest.mark.trap(84)
@pytest.mark.parametrize("point", ["agent_end", "agent_settled"])
async def test_an_agent_is_idle_only_when_every_listener_has_heard_of_the_end(point: str) -> None:
    stage = Stage(says("one"))
    heard: list[str] = []
    hold = Hold(stage, point)
    stage.agent.subscribe(lambda event: heard.append(type(event).__name__))
    running = asyncio.create_task(stage.agent.prompt("first"))
    await hold.reached.wait()

    idle = asyncio.create_task(stage.agent.wait_for_idle())
    await asyncio.sleep(0)
    assert (idle.done(), stage.agent.state.is_streaming) == (False, True)
    hold.go_on.set()
    await idle

    assert heard[-1] == "AgentSettled"
    assert not stage.agent.state.is_streaming
    await running


async def test_waiting_for_an_idle_agent_takes_no_time() -> None:
    await Stage().agent.wait_for_idle()


async def test_the_run_ends_in_order_when_its_caller_is_cancelled() -> None:
    stage = Stage(says("word " * 500), says("fine"))
    begun = asyncio.Event()
    stage.on("message_start assistant:pending", begun.set)
    running = asyncio.create_task(stage.agent.prompt("first"))
    await begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert stage.told[-2:] == ["agent_end", "agent_settled"]
    assert stage.roles == ["user", "assistant:aborted"]
    assert await tasks_left() == set()
    await stage.agent.prompt("again")
    assert stage.roles[-1] == "assistant:stop"


async def test_a_run_whose_own_task_is_cancelled_leaves_nothing_behind() -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    stage = Stage(calls("wait"), tools=[wait])
    running = asyncio.create_task(stage.agent.prompt("go"))
    await begun.wait()

    [run] = [task for task in asyncio.all_tasks() if task.get_name() == "agent run"]
    run.cancel()  # as the end of the program does
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await tasks_left() == set()
    assert not stage.agent.state.is_streaming


# Watching ----------------------------------------------------------------------------------------


async def test_the_state_shows_a_run_while_it_goes_on() -> None:
    @tool
    async def peek() -> str:
        """Look."""
        return "seen"

    stage = Stage(says("one two", *calls("peek").blocks), says("done"), tools=[peek])
    partial: list[str] = []
    open_calls: list[int] = []

    def look(event: AgentEvent) -> None:
        state = stage.agent.state
        assert state.is_streaming
        if isinstance(event, MessageUpdate):
            assert state.streaming_message is not None
            partial.append(state.streaming_message.text)
        elif state.pending_tool_calls:
            open_calls.append(len(state.pending_tool_calls))

    stage.agent.subscribe(look)
    await stage.agent.prompt("go")

    assert {"one ", "one two", "done"} <= set(partial)
    assert open_calls == [1]
    assert stage.agent.state.streaming_message is None


async def test_the_last_error_is_shown_until_an_answer_succeeds() -> None:
    stage = Stage(ProviderError("out of order"), says("ok"))

    await stage.agent.prompt("go")
    assert stage.agent.state.error_message == "out of order"
    await stage.agent.prompt("again")
    assert stage.agent.state.error_message is None


async def test_nothing_is_heard_after_a_subscription_has_ended() -> None:
    stage = Stage(says("ok"))
    heard: list[AgentEvent] = []
    end = stage.agent.subscribe(heard.append)
    end()
    end()

    await stage.agent.prompt("go")

    assert heard == []


async def test_messages_of_an_application_are_kept_told_and_converted() -> None:
    def newest(messages: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        return messages[-1:]

    stage = Stage(
        says("ok"),
        system_prompt="Be brief.",
        convert_to_llm=convert,
        transform_context=newest,
    )

    await stage.agent.prompt([UserMessage(content="old"), Notice(text="saved")])

    assert stage.roles == ["system", "user", "notice", "assistant:stop"]
    assert "message_end notice" in stage.told
    asked = stage.provider.requests[0].messages
    assert [type(message) for message in asked] == [SystemMessage, UserMessage]
    assert asked[-1] == UserMessage(content="saved")


async def test_a_conversion_without_system_messages_keeps_prompt_and_tools() -> None:
    def only_people(messages: Sequence[AgentMessage]) -> Sequence[Message]:
        return [message for message in messages if isinstance(message, UserMessage)]

    stage = Stage(says("1"), says("2"), system_prompt="Be brief.", convert_to_llm=only_people)

    await stage.agent.prompt("a")
    await stage.agent.prompt("b")

    assert stage.roles.count("system") == 1
    assert [type(message) for message in stage.provider.requests[1].messages] == [
        SystemMessage,
        UserMessage,
        UserMessage,
    ]


async def test_policies_are_those_of_the_start_of_a_run() -> None:
    class Counts(Policy):
        asked = 0

        async def before_request(self, request: Request) -> Request:
            self.asked += 1
            stage.agent.policies = ()
            return request

    @tool
    async def peek() -> str:
        """Look."""
        return "seen"

    counts = Counts()
    stage = Stage(calls("peek"), says("one"), says("two"), tools=[peek], policies=[counts])

    await stage.agent.prompt("go")
    await stage.agent.prompt("again")

    assert counts.asked == 2


@pytest.mark.trap(89)
async def test_an_update_carries_only_what_is_new() -> None:
    stage = Stage(says("word " * 500))

    await stage.agent.prompt("go")

    deltas = [
        event
        for event in stage.events
        if isinstance(event, MessageUpdate) and isinstance(event.assistant_message_event, TextDelta)
    ]
    assert len(deltas) == 500
    assert len({len(msgspec.json.encode(delta)) for delta in deltas}) == 1


async def test_the_program_around_may_tell_events_between_runs_and_in_order_with_them() -> None:
    stage = Stage(says("one"))
    label = EntryAppended(entry={"type": "label"})

    await stage.agent.tell(label)
    stage.on("turn_start", lambda: stage.agent.tell(label))
    await stage.agent.prompt("go")

    assert stage.told[:4] == ["entry_appended", "agent_start", "turn_start", "entry_appended"]
    assert stage.events[0] == label
