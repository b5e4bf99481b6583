from __future__ import annotations

import pytest

from bench.answers import Streamed, Whole, answer
from bench.http_requests import HttpRequest

CHAT = b"/v1/chat/completions"


@pytest.mark.parametrize(
    ("target", "body", "status", "code"),
    [
        (b"/v1/nonsense", b"{}", 404, "unknown_url"),
        (CHAT, b'{"model": "gpt-9", "messages": []}', 404, "model_not_found"),
        (CHAT, b'{"model": "echo-1"}', 400, "missing_required_parameter"),
        (CHAT, b"{not json", 400, None),
        (CHAT, b'"\xff"', 400, None),
        (b"/responses", b"[]", 400, None),
    ],
)
def test_invalid_requests_get_errors_in_the_openai_format(
    target: bytes, body: bytes, status: int, code: str | None
) -> None:
    result = answer(_post(target, body))

    assert isinstance(result, Whole)
    message = result.body["error"]["message"]
    assert message
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": None,
        "code": code,
    }
    assert result == Whole(status=status, body={"error": error})


@pytest.mark.parametrize(
    ("body", "status", "kind", "message"),
    [
        (
            b'{"model": "claude", "max_tokens": 1, "messages": []}',
            404,
            "not_found_error",
            "The model 'claude' does not exist.",
        ),
        (
            b'{"model": "echo-1", "messages": []}',
            400,
            "invalid_request_error",
            "Missing required parameter: 'max_tokens'.",
        ),
    ],
)
def test_invalid_requests_get_errors_in_the_anthropic_format(
    body: bytes, status: int, kind: str, message: str
) -> None:
    error = {"type": kind, "message": message}

    assert answer(_post(b"/v1/messages?beta=true", body)) == Whole(
        status=status, body={"type": "error", "error": error, "request_id": "req_mock"}
    )


@pytest.mark.parametrize("prefix", [b"", b"/v1", b"/api/openai/v1"])
def test_any_prefix_of_the_path_is_accepted(prefix: bytes) -> None:
    body = b'{"model": "echo-2@50", "stream": true, "messages": []}'

    result = answer(_post(prefix + b"/chat/completions", body))

    assert isinstance(result, Streamed)
    assert (len(result.reply.deltas), result.rate) == (2, 50)


def test_the_model_list_has_the_format_of_the_requesting_client() -> None:
    openai = answer(HttpRequest(method="GET", target=b"/v1/models"))
    anthropic = answer(
        HttpRequest(method="GET", target=b"/models", headers={b"anthropic-version": b"2023-06-01"})
    )

    assert isinstance(openai, Whole)
    assert isinstance(anthropic, Whole)
    assert openai.body["data"][0] == {
        "id": "echo-20",
        "object": "model",
        "created": 1_767_225_600,
        "owned_by": "mock",
    }
    assert anthropic.body["data"][0] == {
        "type": "model",
        "id": "echo-20",
        "display_name": "echo-20",
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
    }


def _post(target: bytes, body: bytes) -> HttpRequest:
    return HttpRequest(method="POST", target=target, body=bytearray(body))
