"""Errors inside streams, of connections, and of no known shape."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import (
    AuthenticationFailed,
    BadAnswer,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.classify import from_body, from_error_object, from_http
from pi.ai.http.errors import (
    BadResponse,
    BodyTruncated,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InvalidRequest,
    ProxyFailed,
    TimedOut,
    TlsFailed,
)
from pi.ai.messages import Json
from pi.base.testing import FakeClock
from tests.ai.refusals import anthropic, openai, refused, wait


@pytest.mark.behaviour("error-inside-a-200-stream", "transient-network-failures")
@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            {"type": "overloaded_error", "message": "Overloaded"},
            ProviderUnavailable,
            "overloaded_error: Overloaded",
        ),
        (
            anthropic("rate_limit_error", "slow"),
            RateLimited,
            "rate_limit_error: slow",
        ),
        (openai("bad"), BadRequest, "invalid_request_error: bad"),
        ({"code": "server_error", "message": "x"}, ProviderUnavailable, "server_error: x"),
        ({"code": "invalid_prompt", "message": "x"}, BadRequest, "invalid_prompt: x"),
        ({"code": "usage_limit_reached", "message": "x"}, QuotaExhausted, "usage_limit_reached: x"),
        (
            {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"},
            RateLimited,
            '429: {"code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}',
        ),
        (
            {"code": 502, "message": "upstream", "metadata": {"provider_name": "P"}},
            ProviderUnavailable,
            '502: {"code":502,"message":"upstream","metadata":{"provider_name":"P"}}',
        ),
        ({"type": "throttlingException", "message": "Too many tokens"}, RateLimited, None),
        ({"type": "modelStreamErrorException", "message": "x"}, ProviderUnavailable, None),
        ({"type": "validationException", "message": "Input is too long"}, ContextOverflow, None),
        ({"type": "validationException", "message": "bad"}, BadRequest, None),
        ({"status": "DEADLINE_EXCEEDED", "message": "x"}, ProviderUnavailable, None),
        ({"status": "UNAUTHENTICATED", "message": "x"}, AuthenticationFailed, None),
        ({"message": "Your input exceeds the context window"}, ContextOverflow, None),
        ({"message": "Rate limit reached, try again in 5s"}, RateLimited, None),
        ({"message": "Unauthorized"}, AuthenticationFailed, "Unauthorized"),
        ({"error": "something broke"}, ProviderUnavailable, "something broke"),
        ({"odd": [1, None]}, ProviderUnavailable, '{"odd":[1,null]}'),
        ("just text", ProviderUnavailable, "just text"),
    ],
)
def test_an_error_inside_a_stream_is_classified_for_every_provider(
    error: Json | str, kind: type[ProviderError], message: str | None
) -> None:
    problem = from_error_object(error)

    assert type(problem) is kind
    assert message is None or problem.message == message


def test_an_error_inside_a_stream_contains_the_retry_delay() -> None:
    clock = FakeClock()
    relative = {"code": 429, "details": [{"retryDelay": "12.5s"}], "message": "x"}
    absolute = {"code": "rate_limit_exceeded", "resets_at": clock.now_ms() // 1000 + 60}

    assert wait(from_error_object(relative)) == 12.5
    assert wait(from_error_object(absolute, clock=clock)) == 60.0
    assert wait(from_error_object(absolute)) is None


def test_a_status_given_by_the_wire_determines_the_error_class() -> None:
    assert type(from_error_object({"message": "x"}, status=401)) is AuthenticationFailed
    assert type(from_error_object({"message": "x"}, status=503)) is ProviderUnavailable


@pytest.mark.behaviour("transient-network-failures")
@pytest.mark.parametrize(
    "problem",
    [
        ConnectFailed("No connection to h: Connection refused."),
        ConnectFailed("No connection to h: Name or service not known."),
        ConnectionLost("h did not answer: Connection reset by peer."),
        ConnectionLost("The TLS connection to h broke: bad record mac."),
        BodyTruncated("The response of h stopped early."),
        TimedOut("h was silent for 1 s (idle timeout).", kind="idle"),
    ],
)
def test_temporary_http_errors_become_provider_unavailable(problem: HttpError) -> None:
    error = from_http(problem)

    assert type(error) is ProviderUnavailable
    assert error.message == problem.message


@pytest.mark.parametrize(
    ("problem", "kind", "retryable"),
    [
        (TlsFailed("The certificate of h is not trusted.", hint="Name it."), ProviderError, False),
        (TlsFailed("TLS with h failed."), ProviderError, False),
        (ProxyFailed("The proxy refuses."), ProviderError, False),
        (InvalidRequest("A header holds a line end."), BadRequest, False),
        (BadResponse("The response of h is malformed."), BadAnswer, True),
    ],
)
def test_other_http_errors_are_classified_and_keep_their_message_and_hint(
    problem: HttpError, kind: type[ProviderError], retryable: bool
) -> None:
    error = from_http(problem)

    assert type(error) is kind
    assert error.retryable is retryable
    assert error.message.startswith(problem.message)
    assert problem.hint in error.message
    assert retryable or error.message != problem.message


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        (
            b'{"error":{"message":"Overloaded","type":"overloaded_error"}}',
            ProviderUnavailable,
            "Over",
        ),
        (b'{"error":{"message":"x","code":"rate_limit_exceeded","mo', RateLimited, "x"),
        (b'[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', RateLimited, "429: {"),
        (b'{"detail":"Not Found"}', ProviderUnavailable, "Not Found"),
        (b"Too many requests. Try again in 5s\n", RateLimited, "Too many requests."),
        (b"upstream connect error", ProviderUnavailable, "upstream connect error"),
        (b"<html><title>Sign in</title><body>...", ProviderUnavailable, "titled 'Sign in'"),
        (b'{"id":"c","object":"chat.completion","choices":[]}', BadAnswer, "without a stream"),
    ],
)
def test_a_successful_status_without_a_stream_becomes_a_typed_error(
    body: bytes, kind: type[ProviderError], part: str
) -> None:
    problem = from_body(body)

    assert type(problem) is kind
    assert part in problem.message


@pytest.mark.parametrize("body", [b"", b" \r\n\n"])
def test_an_empty_body_is_not_classified(body: bytes) -> None:
    assert from_body(body) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
FIELDS = st.sampled_from(["error", "code", "type", "status", "message", "details", "headers"])
OBJECTS = st.dictionaries(FIELDS, VALUES | st.dictionaries(FIELDS, VALUES))
BODIES = st.binary() | OBJECTS.map(lambda value: msgspec.json.encode(value))


@given(st.integers(300, 599), BODIES)
def test_any_status_and_body_becomes_a_typed_error(status: int, body: bytes) -> None:
    assert isinstance(refused(status, body), ProviderError)
    from_body(body)


@given(OBJECTS)
def test_any_error_object_becomes_a_typed_error(error: dict[str, Any]) -> None:
    assert isinstance(from_error_object(error), ProviderError)


def test_endless_nesting_becomes_a_typed_error() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = {"error": deep, "more": [deep]} if _ % 2 else [deep]

    assert isinstance(from_error_object({"error": {"message": "x", "deep": deep}}), ProviderError)
    assert isinstance(refused(400, b'{"error":' * 5000), ProviderError)
    assert isinstance(refused(400, b"[" * 50_000), ProviderError)
