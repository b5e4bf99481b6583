from __future__ import annotations

from bench.mock_process import MockProcess
from tests.bench.conversation import Json, call

PATH = "/v1/messages"
USER = {"role": "user", "content": "hi"}
BASH = {"name": "bash", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "echo hi"}}
MESSAGE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "echo-2",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}


def test_an_echo_streams_one_block_between_start_and_stop(server: MockProcess) -> None:
    events = call(server.port, "POST", PATH, _request("echo-2", stream=True)).events

    usage = events[0][1]["message"]["usage"]
    assert usage["input_tokens"] > 0
    assert events == _named(
        {"type": "message_start", "message": MESSAGE | {"usage": usage}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {"type": "ping"},
        _delta({"type": "text_delta", "text": "The"}),
        _delta({"type": "text_delta", "text": " quick"}),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": usage | {"output_tokens": 2},
        },
        {"type": "message_stop"},
    )


def test_a_tool_is_called_until_its_result_is_sent(server: MockProcess) -> None:
    request = _request("tools-1", tools=[BASH])
    called = call(server.port, "POST", PATH, request).json
    results = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "hi"}],
    }
    message = {"role": "assistant", "content": called["content"]}
    answered = call(
        server.port, "POST", PATH, request | {"messages": [USER, message, results]}
    ).json

    assert (called["content"], called["stop_reason"]) == ([CALL], "tool_use")
    assert answered["content"] == [{"type": "text", "text": "All done."}]
    assert answered["stop_reason"] == "end_turn"


def test_a_streamed_tool_call_arrives_in_fragments(server: MockProcess) -> None:
    request = _request("tools-1", stream=True, tools=[BASH])

    events = call(server.port, "POST", PATH, request).events

    assert events[1:7] == _named(
        {"type": "content_block_start", "index": 0, "content_block": CALL | {"input": {}}},
        {"type": "ping"},
        _delta({"type": "input_json_delta", "partial_json": '{"comman'}),
        _delta({"type": "input_json_delta", "partial_json": 'd":"echo'}),
        _delta({"type": "input_json_delta", "partial_json": ' hi"}'}),
        {"type": "content_block_stop", "index": 0},
    )


def _request(model: str, **more: object) -> Json:
    return {"model": model, "max_tokens": 100, "messages": [USER], **more}


def _delta(delta: Json) -> Json:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _named(*events: Json) -> list[tuple[str, Json]]:
    return [(event["type"], event) for event in events]
