from __future__ import annotations

import json

from bench.mock_process import MockProcess
from tests.bench.conversation import Json, call

USER = {"role": "user", "parts": [{"text": "hi"}]}
BASH = {"name": "bash", "parametersJsonSchema": {"type": "object"}}
CALL = {"functionCall": {"name": "bash", "args": {"command": "echo hi"}}}


def test_an_echo_streams_chunks_with_the_cumulative_usage(server: MockProcess) -> None:
    chunks = _chunks(server, "echo-2", {"contents": [USER]})

    assert [chunk["candidates"][0] for chunk in chunks] == [
        {"content": {"parts": [{"text": "The"}], "role": "model"}, "index": 0},
        {"content": {"parts": [{"text": " quick"}], "role": "model"}, "index": 0},
        {
            "content": {"parts": [{"text": ""}], "role": "model"},
            "finishReason": "STOP",
            "index": 0,
        },
    ]
    assert [chunk["usageMetadata"]["candidatesTokenCount"] for chunk in chunks] == [1, 2, 2]
    assert {chunk["modelVersion"] for chunk in chunks} == {"echo-2"}


def test_a_tool_is_called_until_its_result_is_sent(server: MockProcess) -> None:
    request: Json = {"contents": [USER], "tools": [{"functionDeclarations": [BASH]}]}
    (called,) = _chunks(server, "tools-1", request)
    result = {"functionResponse": {"name": "bash", "response": {"output": "hi"}}}
    content = called["candidates"][0]["content"]
    contents = [USER, content, {"role": "user", "parts": [result]}]
    answered = _chunks(server, "tools-1", request | {"contents": contents})

    assert content["parts"] == [CALL]
    texts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in answered]
    assert "".join(texts) == "All done."


def test_an_unknown_model_gets_an_error_in_the_google_format(server: MockProcess) -> None:
    answer = call(server.port, "POST", _path("gemini"), {"contents": []})

    message = "The model 'gemini' does not exist."
    assert (answer.status, answer.json) == (
        404,
        {"error": {"code": 404, "message": message, "status": "NOT_FOUND"}},
    )


def _path(model: str) -> str:
    return f"/v1beta/models/{model}:streamGenerateContent?alt=sse"


def _chunks(server: MockProcess, model: str, request: Json) -> list[Json]:
    body = call(server.port, "POST", _path(model), request).body
    return [json.loads(event[6:]) for event in body.decode().split("\r\n\r\n") if event]
