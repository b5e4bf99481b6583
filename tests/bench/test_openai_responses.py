from __future__ import annotations

from bench.mock_process import MockProcess
from tests.bench.conversation import Json, call

PATH = "/v1/responses"
BASH = {"type": "function", "name": "bash", "parameters": {"type": "object"}}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "bash",
    "arguments": '{"command":"echo hi"}',
}
USER = {"role": "user", "content": "hi"}


def test_an_echo_streams_numbered_events_and_ends_with_the_complete_response(
    server: MockProcess,
) -> None:
    request = {"model": "echo-2", "stream": True, "input": "hi", "instructions": "be brief"}

    events = call(server.port, "POST", PATH, request).events

    part = {"type": "output_text", "text": "The quick", "annotations": [], "logprobs": []}
    item = {"id": "msg_0", "type": "message", "role": "assistant"}
    place = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert [name for name, _ in events] == [data["type"] for _, data in events]
    assert [_without(data, "sequence_number") for _, data in events[2:-1]] == [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **place, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **place, "delta": "The", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": " quick", "logprobs": []},
        {"type": "response.output_text.done", **place, "text": "The quick", "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item | {"status": "completed", "content": [part]},
        },
    ]
    created, started, completed = (events[at][1] for at in (0, 1, -1))
    assert (created["type"], started["type"]) == ("response.created", "response.in_progress")
    assert created["response"] == started["response"]
    assert completed["response"] == created["response"] | {
        "status": "completed",
        "completed_at": created["response"]["created_at"],
        "output": [item | {"status": "completed", "content": [part]}],
        "usage": completed["response"]["usage"],
    }
    assert completed["response"]["instructions"] == "be brief"
    assert completed["response"]["usage"]["output_tokens"] == 2


def test_a_tool_is_called_until_its_result_is_sent(server: MockProcess) -> None:
    request: Json = {"model": "tools-1", "input": [USER], "tools": [BASH]}
    called = call(server.port, "POST", PATH, request).json["output"]
    result = {"type": "function_call_output", "call_id": "call_1", "output": "hi"}
    answered = call(server.port, "POST", PATH, request | {"input": [USER, *called, result]}).json

    assert called == [CALL]
    assert answered["output"][0]["content"][0]["text"] == "All done."


def test_a_streamed_tool_call_arrives_in_fragments(server: MockProcess) -> None:
    request = {"model": "tools-1", "stream": True, "input": [USER], "tools": [BASH]}

    events = [data for _, data in call(server.port, "POST", PATH, request).events]

    head = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0}
    assert [_without(data, "sequence_number") for data in events[2:-1]] == [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": CALL | {"status": "in_progress", "arguments": ""},
        },
        *(head | {"delta": piece} for piece in ('{"comman', 'd":"echo', ' hi"}')),
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "output_index": 0,
            "name": "bash",
            "arguments": CALL["arguments"],
        },
        {"type": "response.output_item.done", "output_index": 0, "item": CALL},
    ]
    assert events[-1]["response"]["output"] == [CALL]


def _without(data: Json, key: str) -> Json:
    return {name: value for name, value in data.items() if name != key}
