from __future__ import annotations

from bench.mock_process import MockProcess
from tests.bench.conversation import Json, call

PATH = "/v1/chat/completions"
USER = {"role": "user", "content": "hi"}
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command":"echo hi"}'},
}


def test_an_echo_streams_its_deltas_and_then_the_usage(server: MockProcess) -> None:
    request: Json = {"model": "echo-3", "stream": True, "messages": [USER]}
    answer = call(server.port, "POST", PATH, request | {"stream_options": {"include_usage": True}})

    *chunks, done = [data for _, data in answer.events]
    assert answer.content_type == "text/event-stream; charset=utf-8"
    assert done == "[DONE]"
    assert [choice for chunk in chunks for choice in chunk["choices"]] == [
        _choice({"role": "assistant", "content": "", "refusal": None}),
        _choice({"content": "The"}),
        _choice({"content": " quick"}),
        _choice({"content": " brown"}),
        _choice({}, finish="stop"),
    ]
    assert [chunk["usage"] and chunk["usage"]["completion_tokens"] for chunk in chunks] == [
        None,
        None,
        None,
        None,
        None,
        3,
    ]


def test_without_stream_options_there_is_no_usage(server: MockProcess) -> None:
    request = {"model": "echo-1", "stream": True, "messages": [USER]}

    events = call(server.port, "POST", PATH, request).events

    assert ["usage" in data for _, data in events[:-1]] == [False, False, False]


def test_an_echo_without_streaming_is_one_response(server: MockProcess) -> None:
    answer = call(server.port, "POST", PATH, {"model": "echo-2", "messages": [USER]}).json

    assert answer["object"] == "chat.completion"
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "The quick",
                "refusal": None,
                "annotations": [],
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert answer["usage"]["completion_tokens"] == 2


def test_a_tool_is_called_until_its_result_is_sent(server: MockProcess) -> None:
    request: Json = {"model": "tools-1", "messages": [USER], "tools": [BASH]}
    called = call(server.port, "POST", PATH, request).json["choices"][0]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "hi"}
    answered = call(
        server.port, "POST", PATH, request | {"messages": [USER, called["message"], result]}
    ).json["choices"][0]

    assert called["message"]["tool_calls"] == [CALL]
    assert called["finish_reason"] == "tool_calls"
    assert answered["message"]["content"] == "All done."
    assert answered["finish_reason"] == "stop"


def test_a_streamed_tool_call_arrives_in_fragments(server: MockProcess) -> None:
    request = {"model": "tools-1", "stream": True, "messages": [USER], "tools": [BASH]}

    chunks = [data for _, data in call(server.port, "POST", PATH, request).events[:-1]]

    first, *fragments, last = [chunk["choices"][0] for chunk in chunks]
    empty = CALL | {"function": {"name": "bash", "arguments": ""}}
    assert first["delta"] == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [{"index": 0, **empty}],
    }
    assert [choice["delta"]["tool_calls"] for choice in fragments] == [
        [{"index": 0, "function": {"arguments": piece}}]
        for piece in ('{"comman', 'd":"echo', ' hi"}')
    ]
    assert last == _choice({}, finish="tool_calls")


def _choice(delta: Json, *, finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
