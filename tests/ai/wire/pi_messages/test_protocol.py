from __future__ import annotations

import msgspec

from pi.ai.request import StreamOptions
from pi.ai.wire.pi_messages.request import ProxyOptions, ProxyRequest, ProxyTranscript
from tests.ai.wire.pi_messages.conversation import TURN

QUESTION = ProxyRequest(
    model="balanced",
    context=ProxyTranscript(messages=TURN),
    options=ProxyOptions(
        reasoning="high",
        tool_choice={"type": "tool", "name": "peek"},
        cache_retention="long",
        session_id="S",
    ),
)


def test_a_question_survives_the_way() -> None:
    assert msgspec.json.decode(msgspec.json.encode(QUESTION), type=ProxyRequest) == QUESTION


def test_options_that_were_left_out_are_not_sent() -> None:
    assert msgspec.json.encode(ProxyOptions()) == b"{}"
    assert msgspec.json.encode(QUESTION.options) == (
        b'{"reasoning":"high","toolChoice":{"type":"tool","name":"peek"},'
        b'"cacheRetention":"long","sessionId":"S"}'
    )


def test_every_option_is_one_of_ours_with_the_same_default() -> None:
    ours, sent = StreamOptions(), ProxyOptions()

    names = ProxyOptions.__struct_fields__
    assert {name: getattr(ours, name) for name in names} == {
        name: getattr(sent, name) for name in names
    }
