from __future__ import annotations

from pi.ai.messages import Context, UserMessage
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.request import StreamOptions
from pi.ai.testing import ScriptedStream
from pi.base.records import replace
from pi.testing import says

HELLO = Context(messages=(UserMessage(content="hello"),))


async def test_scripted_steps_are_played_in_order_and_requests_are_recorded() -> None:
    stream = ScriptedStream(says("one"))
    stream.add(says("two"))
    other = replace(FAUX_MODEL, id="other")

    answers = [
        await stream(FAUX_MODEL, HELLO).result(),
        await stream(other, HELLO, StreamOptions(temperature=1)).result(),
        await stream(other, HELLO).result(),
    ]

    assert [(answer.text, answer.stop_reason, answer.model) for answer in answers] == [
        ("one", "stop", "faux"),
        ("two", "stop", "other"),
        ("", "error", "other"),
    ]
    assert [call.messages for call in stream.requests] == [HELLO.messages] * 3
    assert stream.requests[1].options == StreamOptions(temperature=1)
