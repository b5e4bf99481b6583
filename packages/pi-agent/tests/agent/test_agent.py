from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from pi.agent.agent import Agent
from pi.agent.conversation import AgentMessage, MemoryConversation
from pi.agent.errors import CannotContinue
from pi.agent.events import AgentEvent, EntryAppended, MessageUpdate, QueueUpdate
from pi.agent.policy import Next, Policy, Request
from pi.agent.tools.define import tool
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
from pi.ai.testing import ScriptedStream, calls, says
from pi.base.clock import SystemClock
from pi.base.records import Record
from tests.agent.agents import AgentFixture

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
    fixture = AgentFixture(says("1"), says("2"), says("3"))
    now = fixture.clock.now_ms()

    await fixture.agent.prompt("look", [PICTURE])
    await fixture.agent.prompt(UserMessage(content="one"))
    await fixture.agent.prompt([UserMessage(content="two"), UserMessage(content="three")])

    user_messages = [m for m in fixture.agent.state.messages if isinstance(m, UserMessage)]
    assert user_messages == [
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
    fixture = AgentFixture(says("ok"), options=options, thinking_level="low")

    await fixture.agent.prompt("go")

    sent = fixture.provider.requests[0].options
    assert (sent.session_id, sent.tool_choice, sent.temperature, sent.reasoning) == (
        "s",
        "none",
        0.5,
        "low",
    )


async def test_continuing_answers_the_last_user_message_of_the_conversation() -> None:
    fixture = AgentFixture(
        says("ok"), conversation=MemoryConversation(UserMessage(content="hello"))
    )

    await fixture.agent.continue_()

    assert fixture.roles == ["user", "assistant:stop"]
    assert fixture.emitted.count("message_start user") == 0


async def test_continuing_after_the_result_of_a_tool_is_possible() -> None:
    result = ToolResultMessage(tool_call_id="A", tool_name="peek", content=())
    fixture = AgentFixture(
        says("ok"), conversation=MemoryConversation(UserMessage(content="x"), result)
    )

    await fixture.agent.continue_()

    assert fixture.roles[-1] == "assistant:stop"


async def test_a_message_that_converts_to_a_user_message_can_be_continued() -> None:
    log = MemoryConversation(Notice(text="saved"))
    fixture = AgentFixture(says("ok"), conversation=log, convert_to_llm=convert)

    await fixture.agent.continue_()

    assert fixture.provider.requests[0].messages == (UserMessage(content="saved"),)


@pytest.mark.parametrize(
    "messages", [(), (UserMessage(content="x"), AssistantMessage()), (Notice(text="saved"),)]
)
async def test_continuing_after_an_answer_or_without_a_user_message_raises(
    messages: tuple[Any, ...],
) -> None:
    fixture = AgentFixture(says("never"), conversation=MemoryConversation(*messages))

    with pytest.raises(CannotContinue):
        await fixture.agent.continue_()

    assert fixture.emitted == []


async def test_steering_an_empty_conversation_does_not_start_anything() -> None:
    fixture = AgentFixture(says("never"))

    await fixture.agent.steer("hello")
    await fixture.agent.wait_for_idle()

    assert fixture.provider.requests == []
    assert len(fixture.agent.inbox.steering) == 1


async def test_queue_changes_are_emitted_and_queued_messages_can_be_cleared() -> None:
    fixture = AgentFixture()
    message = UserMessage(content="b")

    await fixture.agent.steer("a", [PICTURE])
    await fixture.agent.follow_up(message)
    taken = await fixture.agent.clear_queue()

    assert fixture.events == [
        QueueUpdate(steering=("a",)),
        QueueUpdate(steering=("a",), follow_up=("b",)),
        QueueUpdate(),
    ]
    now = fixture.clock.now_ms()
    steered = UserMessage(content=(Text(text="a"), PICTURE), timestamp=now)
    assert taken == ((steered,), (message,))


# Watching ----------------------------------------------------------------------------------------


async def test_no_event_is_delivered_after_an_unsubscribe() -> None:
    fixture = AgentFixture(says("ok"))
    events: list[AgentEvent] = []
    end = fixture.agent.subscribe(events.append)
    end()
    end()

    await fixture.agent.prompt("go")

    assert events == []


async def test_messages_of_an_application_are_kept_emitted_and_converted() -> None:
    def newest(messages: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        return messages[-1:]

    fixture = AgentFixture(
        says("ok"),
        system_prompt="Be brief.",
        convert_to_llm=convert,
        transform_context=newest,
    )

    await fixture.agent.prompt([UserMessage(content="old"), Notice(text="saved")])

    assert fixture.roles == ["system", "user", "notice", "assistant:stop"]
    assert "message_end notice" in fixture.emitted
    messages = fixture.provider.requests[0].messages
    assert [type(message) for message in messages] == [SystemMessage, UserMessage]
    assert messages[-1] == UserMessage(content="saved")


async def test_a_conversion_without_system_messages_keeps_prompt_and_tools() -> None:
    def only_people(messages: Sequence[AgentMessage]) -> Sequence[Message]:
        return [message for message in messages if isinstance(message, UserMessage)]

    fixture = AgentFixture(
        says("1"), says("2"), system_prompt="Be brief.", convert_to_llm=only_people
    )

    await fixture.agent.prompt("a")
    await fixture.agent.prompt("b")

    assert fixture.roles.count("system") == 1
    assert [type(message) for message in fixture.provider.requests[1].messages] == [
        SystemMessage,
        UserMessage,
        UserMessage,
    ]


async def test_a_run_uses_the_policies_of_its_start() -> None:
    class Counts(Policy):
        requests = 0

        async def before_request(self, request: Request) -> Request:
            self.requests += 1
            fixture.agent.policies = ()
            return request

    @tool
    async def peek() -> str:
        """Look."""
        return "seen"

    counts = Counts()
    fixture = AgentFixture(calls("peek"), says("one"), says("two"), tools=[peek], policies=[counts])

    await fixture.agent.prompt("go")
    await fixture.agent.prompt("again")

    assert counts.requests == 2


@pytest.mark.behaviour("streaming-is-linear")
async def test_a_message_update_contains_only_the_new_delta() -> None:
    fixture = AgentFixture(says("word " * 500))

    await fixture.agent.prompt("go")

    deltas = [
        event
        for event in fixture.events
        if isinstance(event, MessageUpdate) and isinstance(event.assistant_message_event, TextDelta)
    ]
    assert len(deltas) == 500
    assert len({len(msgspec.json.encode(delta)) for delta in deltas}) == 1


async def test_the_host_can_emit_events_between_runs_and_in_order_with_their_events() -> None:
    fixture = AgentFixture(says("one"))
    label = EntryAppended(entry={"type": "label"})

    await fixture.agent.emit(label)
    fixture.on("turn_start", lambda: fixture.agent.emit(label))
    await fixture.agent.prompt("go")

    assert fixture.emitted[:4] == ["entry_appended", "agent_start", "turn_start", "entry_appended"]
    assert fixture.events[0] == label
