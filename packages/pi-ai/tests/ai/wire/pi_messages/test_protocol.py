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


def test_a_request_can_be_encoded_and_decoded() -> None:
    assert msgspec.json.decode(msgspec.json.encode(QUESTION), type=ProxyRequest) == QUESTION


def test_unset_options_are_not_encoded() -> None:
    assert msgspec.json.encode(ProxyOptions()) == b"{}"
    assert msgspec.json.encode(QUESTION.options) == (
        b'{"reasoning":"high","toolChoice":{"type":"tool","name":"peek"},'
        b'"cacheRetention":"long","sessionId":"S"}'
    )


def test_every_option_is_a_stream_option_with_the_same_default() -> None:
    ours, sent = StreamOptions(), ProxyOptions()

    names = ProxyOptions.__struct_fields__
    assert {name: getattr(ours, name) for name in names} == {
        name: getattr(sent, name) for name in names
    }
