from __future__ import annotations

import pytest

from pi.ai.errors import (
    AnswerRefused,
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.classify import hint_for
from pi.ai.failures.message_text import MAX_SHOWN
from pi.ai.messages import Json
from tests.ai.refusals import anthropic, google, openai, refused, wait


@pytest.mark.behaviour(
    "rate-limit-is-not-overflow", "quota-errors-fail-fast", "transient-network-failures"
)
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        # OpenAI and compatible servers
        (401, openai("Incorrect API key", code="invalid_api_key"), AuthenticationFailed),
        (429, openai("Rate limit", type="tokens", code="rate_limit_exceeded"), RateLimited),
        (429, openai("You exceeded your current quota", code="insufficient_quota"), QuotaExhausted),
        (429, openai("You exceeded your current quota, check your plan"), QuotaExhausted),
        (429, openai("Too many tokens"), RateLimited),
        (429, openai("maximum context length is 128000 tokens"), RateLimited),
        (400, openai("too long", code="context_length_exceeded"), ContextOverflow),
        (400, openai("Unknown parameter"), BadRequest),
        (400, openai("filtered", code="content_filter"), AnswerRefused),
        # Gateways that blame the request for a passing failure
        (400, openai("Selected model is at capacity"), ProviderUnavailable),
        (400, openai("Our servers are currently busy"), ProviderUnavailable),
        (403, openai("The service is temporarily unavailable"), ProviderUnavailable),
        (400, openai("The upstream provider returned an error"), ProviderUnavailable),
        (400, openai("Unable to forward upstream stream"), ProviderUnavailable),
        (401, openai("The service is temporarily unavailable"), AuthenticationFailed),
        (402, {"error": "Payment required"}, QuotaExhausted),
        (402, openai("Prompt tokens limit exceeded: 69120 > 36608"), QuotaExhausted),
        (404, {"error": "model 'x' not found"}, BadRequest),
        (429, {"error": {"code": "1113", "message": "Insufficient balance"}}, QuotaExhausted),
        (429, {"error": {"code": "1302", "message": "High concurrency"}}, RateLimited),
        (429, {"error": "you have reached your session usage limit"}, QuotaExhausted),
        (429, {"error": "You hit your usage limit. Try again in 3 hours."}, QuotaExhausted),
        (429, {"error": "Monthly limit reached. Rate limit resets on May 1"}, QuotaExhausted),
        (429, {"error": "Quota exceeded for requests per minute"}, RateLimited),
        (429, {"error": "You exceeded your current quota. Please retry in 3.5s."}, RateLimited),
        (400, {"code": "rate_limit_exceeded", "error": {"message": "x"}}, RateLimited),
        (429, {"message": "Requests rate limit exceeded", "code": "1300"}, RateLimited),
        # Anthropic
        (429, anthropic("rate_limit_error", "This request would exceed"), RateLimited),
        (529, anthropic("overloaded_error", "Overloaded"), ProviderUnavailable),
        (500, anthropic("api_error", "Internal server error"), ProviderUnavailable),
        (400, anthropic("invalid_request_error", "prompt is too long: 3 > 2"), ContextOverflow),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), QuotaExhausted),
        (403, anthropic("permission_error", "not allowed"), AuthenticationFailed),
        # Google
        (400, google(400, "INVALID_ARGUMENT", "bad schema"), BadRequest),
        (
            400,
            google(400, "INVALID_ARGUMENT", "not valid", {"reason": "API_KEY_INVALID"}),
            AuthenticationFailed,
        ),
        (
            400,
            google(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum (8)."),
            ContextOverflow,
        ),
        (
            429,
            google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
            RateLimited,
        ),
        (
            429,
            google(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota.",
                {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                {"retryDelay": "12s"},
            ),
            QuotaExhausted,
        ),
        (503, google(503, "UNAVAILABLE", "The model is overloaded."), ProviderUnavailable),
        # Local servers
        (500, {"error": "prompt too long; exceeded max context length by 4"}, ContextOverflow),
        (400, {"error": {"type": "exceed_context_size_error", "n_ctx": 4096}}, ContextOverflow),
        # A gateway that forwards the error of its upstream
        (
            400,
            {"error": {"code": 400, "metadata": {"raw": '{"message":"prompt is too long"}'}}},
            ContextOverflow,
        ),
        # Only a status
        (401, b"", AuthenticationFailed),
        (402, b"", QuotaExhausted),
        (403, b"", AuthenticationFailed),
        (408, b"", ProviderUnavailable),
        (409, b"", ProviderUnavailable),
        (422, b"", BadRequest),
        (425, b"", ProviderUnavailable),
        (429, b"", RateLimited),
        (500, b"", ProviderUnavailable),
        (502, b"", ProviderUnavailable),
        (503, b"", ProviderUnavailable),
        (504, b"", ProviderUnavailable),
        (520, b"", ProviderUnavailable),
        (524, b"", ProviderUnavailable),
        (529, b"", ProviderUnavailable),
        (307, b"", BadRequest),
    ],
)
def test_an_error_response_is_classified_by_code_and_status(
    status: int, body: Json | bytes, kind: type[ProviderError]
) -> None:
    problem = refused(status, body)

    assert type(problem) is kind
    assert problem.status == status
    assert hint_for(problem.message) == problem.hint


@pytest.mark.behaviour("transient-network-failures")
@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("ThrottlingException", "Too many tokens, please wait before trying again.", RateLimited),
        ("ServiceQuotaExceededException", "exceeds the service quota", QuotaExhausted),
        ("ValidationException:http://internal/", "Input is too long.", ContextOverflow),
        ("ValidationException", "Malformed input request", BadRequest),
        ("AccessDeniedException", "no access", AuthenticationFailed),
        ("ModelErrorException", "the model failed", ProviderUnavailable),
    ],
)
def test_an_amazon_error_is_classified_by_its_error_type_header(
    name: str, message: str, kind: type[ProviderError]
) -> None:
    problem = refused(400, {"message": message}, x_amzn_errortype=name)

    assert type(problem) is kind
    assert problem.code == name.partition(":")[0]


@pytest.mark.behaviour("413-is-not-always-overflow")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b""),
        (413, b""),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
        (413, anthropic("request_too_large", "Request exceeds the maximum size")),
        (413, openai("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes")),
    ],
)
def test_a_missing_reason_or_a_too_large_body_is_not_a_context_overflow(
    status: int, body: Json | bytes
) -> None:
    assert type(refused(status, body)) is BadRequest


@pytest.mark.behaviour("status-is-read-from-fields")
def test_numbers_in_ids_and_messages_are_not_read_as_a_status() -> None:
    body = {
        "error": {
            "message": "Request 503 of trace 429 hit a server_error in 529",
            "type": "invalid_request_error",
            "id": "req_503_529",
        }
    }

    assert type(refused(400, body)) is BadRequest


def test_a_code_field_has_priority_over_the_status() -> None:
    assert type(refused(400, openai("x", type="server_error"))) is ProviderUnavailable
    assert type(refused(403, openai("x", code="rate_limit_exceeded"))) is RateLimited


@pytest.mark.behaviour("local-bad-tool-json")
@pytest.mark.parametrize(
    "body",
    [
        {"error": "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input"},
        {"error": {"code": 500, "message": "Failed to parse input at pos 184: <tool_call>"}},
    ],
)
def test_a_broken_tool_call_of_a_local_model_is_not_retried(body: Json) -> None:
    problem = refused(500, body)

    assert not problem.retryable
    assert "tools" in problem.hint


@pytest.mark.behaviour("provider-errors-show-status-and-body")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            openai("no"),
            '400: {"message":"no","type":"invalid_request_error","param":null,"code":null}',
        ),
        (anthropic("a", "b"), '400: {"type":"a","message":"b"}'),
        ({"message": "é"}, '400: {"message":"é"}'),
        ({"error": "plain"}, '400: {"error":"plain"}'),
        ("two\n lines", "400: two lines"),
        (b'[{"error":{"code":400}}]', '400: {"code":400}'),
        (b"", "400: the server gave no reason"),
        (b"\xff\xfe", "400: \ufffd\ufffd"),
        (
            "<!DOCTYPE html>\n<html><title>\n Bad &amp; gone </title><body>secret</body>",
            "400: a web page titled 'Bad & gone'",
        ),
        ("<html><body><p>x</body></html>", "400: a web page without a title"),
        (
            {"error": {"message": "<html><head><title>502 Bad Gateway</title>"}},
            '400: {"message":"a web page titled \'502 Bad Gateway\'"}',
        ),
    ],
)
def test_the_message_shows_status_and_error_but_no_html(
    body: Json | str | bytes, message: str
) -> None:
    assert refused(400, body).message == message


@pytest.mark.behaviour("provider-errors-show-status-and-body")
def test_a_long_error_message_is_truncated() -> None:
    assert refused(400, "x" * 5000).message == f"400: {'x' * MAX_SHOWN}…"
    assert len(refused(400, openai("y" * 5000)).message) < MAX_SHOWN + 10


def test_a_truncated_error_body_is_still_classified() -> None:
    body = b'{"error":{"code":"context_length_exceeded","message":"the conversation is'

    assert type(refused(400, body)) is ContextOverflow


def test_errors_have_a_hint_about_the_next_step() -> None:
    assert refused(401).hint == "Log in again or check the API key."
    assert "firewall" in refused(403, "<html><title>Attention Required!</title></html>").hint
    assert "base URL" in refused(404).hint
    assert "base URL" in refused(308).hint
    assert "billing" in refused(402).hint
    assert "Compact" in refused(400, openai("prompt is too long")).hint
    assert "bytes" in refused(413).hint


def test_a_rate_limit_error_contains_the_retry_delay() -> None:
    by_header = refused(429, b"", retry_after="7")
    by_text = refused(429, openai("Please try again in 1m3.5s.", code="rate_limit_exceeded"))
    by_limit = refused(429, b"", x_ratelimit_reset_requests="20s")

    assert [wait(problem) for problem in (by_header, by_text, by_limit)] == [7.0, 63.5, 20.0]


def test_an_unavailable_server_sets_the_delay_by_retry_after_only() -> None:
    assert wait(refused(503, b"", retry_after="7", x_ratelimit_reset_requests="24h")) == 7.0
    assert wait(refused(503, b"", x_ratelimit_reset_requests="24h")) is None
