from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module

from hypothesis import given

from pi.ai.messages import AssistantMessage, Message, ToolResultMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.request import Call
from pi.ai.wire_support.handoff import NO_RESULT, prepare, same_id
from pi.ai.wires import WIRES
from pi.base.records import replace
from tests.agent.agents import tasks_left, words
from tests.agent.event_grammar import EventGrammar
from tests.agent.random_conversations import Story, play, stories


def check_calls(messages: Sequence[Message]) -> None:
    """Every call of a complete answer has exactly one result, directly after it and in order."""
    rest = list(messages)
    while rest:
        message = rest.pop(0)
        assert not isinstance(message, ToolResultMessage), "a result without its call"
        if isinstance(message, AssistantMessage):
            assert message.stop_reason != "pending"
            if message.stop_reason in ("error", "aborted"):
                continue
            for requested in message.tool_calls:
                result = rest.pop(0)
                assert isinstance(result, ToolResultMessage), f"no result of {requested.id}"
                assert (result.tool_call_id, result.tool_name) == (requested.id, requested.name)


def check_requests(messages: tuple[Message, ...]) -> None:
    """The next request can be encoded for every wire without repairs."""
    for api, where in WIRES.items():
        model = replace(FAUX_MODEL, api=api, base_url="http://127.0.0.1/v1")
        encode = import_module(f"{where.partition(':')[0]}.request").encode
        assert encode(Call(model=model, messages=messages))
        sent = prepare(messages, model, same_id)
        results = [message for message in sent if isinstance(message, ToolResultMessage)]
        calls = [
            call.id
            for message in sent
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        ]
        assert [result.tool_call_id for result in results] == calls
        assert NO_RESULT not in map(words, results)
        assert len(results) == sum(isinstance(each, ToolResultMessage) for each in messages)


@given(stories)
def test_every_conversation_has_valid_events_calls_and_requests(story: Story) -> None:
    async def scenario() -> None:
        fixture = await play(story)
        assert await tasks_left() == set()
        EventGrammar().follow(fixture.events)
        messages = fixture.agent.state.messages
        assert fixture.agent.state.pending_tool_calls == frozenset()
        check_calls(messages)
        check_requests(messages)
        for request in fixture.provider.requests:
            check_calls(request.messages)

    asyncio.run(scenario())
