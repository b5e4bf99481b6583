from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.events import AgentEnd, AgentStart, MessageUpdate
from pi.ai.events import TextDelta
from pi.ai.messages import Usage, UserMessage
from pi.modes.headless import event_line


def update(text: str) -> MessageUpdate:
    delta = TextDelta(content_index=0, delta=text)
    return MessageUpdate(usage=Usage(), assistant_message_event=delta)


def test_the_time_since_the_session_began_is_the_last_field_of_an_event() -> None:
    assert event_line(AgentStart(), 12) == b'{"type":"agent_start","since_session_ms":12}\n'


@pytest.mark.behaviour("stream-events-are-complete")
@given(st.text())
def test_an_event_with_any_text_is_one_line(text: str) -> None:
    line = event_line(update(text), 0)

    assert line.count(b"\n") == 1
    assert json.loads(line)["assistantMessageEvent"]["delta"] == text
    assert json.loads(line)["usage"]["totalTokens"] == 0


def test_a_lone_surrogate_is_replaced_and_the_other_text_is_kept() -> None:
    line = event_line(AgentEnd(messages=(UserMessage(content="a\ud83d!"),)), 3)

    assert json.loads(line) == {
        "type": "agent_end",
        "messages": [{"role": "user", "content": "a\ufffd!", "timestamp": 0}],
        "willRetry": False,
        "since_session_ms": 3,
    }
