from __future__ import annotations

import asyncio
from typing import Any

from pi.agent.events import MessageEnd, MessageStart, MessageUpdate
from pi.agent.policy import Interrupt
from pi.agent.response import MessageToken, StreamingResponse
from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.messages import AssistantMessage, Context, Interruption, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import Step
from pi.ai.request import StreamOptions
from pi.ai.testing import ScriptedStream, says
from tests.agent.agents import AgentFixture


def test_an_answer_has_a_token_only_while_it_streams() -> None:
    answer = StreamingResponse()
    tokens = [answer.token]
    with answer.streaming(lambda: None):
        tokens.append(answer.token)
    tokens.append(answer.token)

    assert tokens == [None, 1, None]


def test_an_answer_can_be_interrupted_once_and_only_while_it_streams() -> None:
    stopped: list[str] = []
    answer = StreamingResponse()

    with answer.streaming(lambda: stopped.append("first")):
        token = answer.token
        assert token is not None
        assert answer.interrupt(token, Interrupt("no"))
        assert not answer.interrupt(token, Interrupt("twice"))
    with answer.streaming(lambda: stopped.append("second")):
        assert not answer.interrupt(token, Interrupt("of another one"))
        assert answer.cut is None
        newest = answer.token
    assert newest is not None
    assert not answer.interrupt(newest, Interrupt("late"))
    assert stopped == ["first"]


class Endless:
    """Streams one word and hangs until it is interrupted; then follows a script."""

    def __init__(self, *steps: Step) -> None:
        self._script = ScriptedStream(*steps)
        self._begun = False

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        if self._begun:
            return self._script(model, context, options)
        self._begun = True
        return EventStream(MessageBuilder(model, now_ms=0), self._answer)

    async def _answer(self, builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        builder.text(0, "hm")
        flush()
        await asyncio.Event().wait()


def cutting(fixture: AgentFixture, event: type, cut: Interrupt) -> list[bool]:
    """Interrupt the first answer at an event of that kind; returns whether that was in time."""
    done: list[bool] = []

    def listen(emitted: Any) -> None:
        answers = not isinstance(emitted, MessageStart | MessageEnd) or isinstance(
            emitted.message, AssistantMessage
        )
        if isinstance(emitted, event) and answers and not done:
            token = fixture.agent.open_answer.token
            done.append(token is not None and fixture.agent.open_answer.interrupt(token, cut))

    fixture.agent.subscribe(listen)
    return done


async def test_a_silent_stream_can_be_interrupted_and_the_run_sends_another_request() -> None:
    fixture = AgentFixture(stream=Endless(says("better")))
    draft = UserMessage(content="mind the rule")
    done = cutting(fixture, MessageUpdate, Interrupt("rule", by="rules", entries=(draft,)))

    await fixture.agent.prompt("go")

    assert done == [True]
    assert fixture.roles == ["user", "assistant:aborted", "user", "assistant:stop"]
    cut = fixture.agent.state.messages[1]
    assert (cut.text, cut.interrupt) == ("hm", Interruption(by="rules", reason="rule"))
    assert fixture.emitted.count("agent_start") == 1


async def test_a_complete_answer_can_be_interrupted_while_its_updates_are_emitted() -> None:
    fixture = AgentFixture(says("one two three"), says("four"))
    cutting(fixture, MessageUpdate, Interrupt("enough"))

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "assistant:stop"]


async def test_an_interrupt_from_outside_can_keep_the_text_before_it() -> None:
    fixture = AgentFixture(says("one two three"), says("four"))
    cutting(fixture, MessageUpdate, Interrupt("enough", keep=True))

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop", "assistant:stop"]


async def test_an_interrupt_after_the_end_of_an_answer_is_rejected() -> None:
    fixture = AgentFixture(says("one"))
    done = cutting(fixture, MessageEnd, Interrupt("late"))

    await fixture.agent.prompt("go")

    assert done == [False]
    assert fixture.roles == ["user", "assistant:stop"]
    assert not fixture.agent.open_answer.interrupt(MessageToken(1), Interrupt("later still"))


async def test_an_abort_overrides_an_interrupt() -> None:
    fixture = AgentFixture(says("one two"), says("never asked"))

    def both(emitted: Any) -> None:
        if isinstance(emitted, MessageUpdate) and (token := fixture.agent.open_answer.token):
            fixture.agent.open_answer.interrupt(token, Interrupt("again"))
            fixture.agent.abort()

    fixture.agent.subscribe(both)
    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted"]


async def test_the_next_request_can_be_read_without_sending_it() -> None:
    fixture = AgentFixture(says("one"), system_prompt="Be kind.")

    before = fixture.agent.next_request()
    await fixture.agent.prompt("go")
    after = fixture.agent.next_request()

    assert [type(message).__name__ for message in before.messages] == ["SystemMessage"]
    assert tuple(after.messages) == fixture.agent.state.messages
    assert len(fixture.provider.requests) == 1
