from __future__ import annotations

import pytest

from pi.ai.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.details import (
    all_strings,
    codes,
    inner_error,
    is_error_object,
    is_refusal,
    kind_of_code,
    message_in,
    status_in,
)
from pi.ai.messages import Json


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("context_length_exceeded", ContextOverflow),
        ("insufficient_quota", QuotaExhausted),
        ("1113", QuotaExhausted),
        ("FreeUsageLimitError", QuotaExhausted),
        ("invalid_api_key", AuthenticationFailed),
        ("API_KEY_INVALID", AuthenticationFailed),
        ("RESOURCE_EXHAUSTED", RateLimited),
        ("ResourceExhausted", RateLimited),
        ("throttlingException", RateLimited),
        ("com.amazon.coral.service#ThrottlingException:http://internal/", RateLimited),
        ("Throttling.RateQuota", RateLimited),
        ("overloaded_error", ProviderUnavailable),
        ("modelStreamErrorException", ProviderUnavailable),
        ("INTERNAL", ProviderUnavailable),
        ("invalid_request_error", None),
        ("api_error", None),
        ("req_503", None),
        ("503", None),
        ("", None),
    ],
)
def test_error_codes_are_recognised_in_every_spelling(
    code: str, kind: type[ProviderError] | None
) -> None:
    assert kind_of_code(code) is kind


@pytest.mark.parametrize(
    ("error", "inner"),
    [
        ({"error": {"message": "x"}}, {"message": "x"}),
        ({"type": "error", "error": {"type": "a"}}, {"type": "a"}),
        ({"error": {"error": {"code": 1}}}, {"code": 1}),
        ({"code": "a", "type": "error", "error": {"message": "x"}}, {"code": "a", "message": "x"}),
        ({"code": "a", "error": {"code": "b"}}, {"code": "b"}),
        ({"message": "x"}, {"message": "x"}),
        ({"error": "x"}, {"error": "x"}),
        ({"error": {}}, {"error": {}}),
    ],
)
def test_the_error_object_is_found_in_known_envelopes(error: Json, inner: Json) -> None:
    assert inner_error(error) == inner


def test_the_most_specific_code_comes_first() -> None:
    error = {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "type": "",
        "details": [{"reason": "RATE_LIMIT_EXCEEDED"}, "odd", {"reason": None}],
    }

    assert codes(error) == ("RATE_LIMIT_EXCEEDED", "429", "RESOURCE_EXHAUSTED")


@pytest.mark.behaviour("status-is-read-from-fields")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 502}, 502),
        ({"code": "429"}, 429),
        ({"status": 503, "code": "x"}, 503),
        ({"statusCode": 500}, 500),
        ({"code": "x503"}, None),
        ({"message": "503", "id": 503, "request_id": "503"}, None),
        ({"code": 200}, None),
        ({"code": True, "status": None}, None),
    ],
)
def test_a_status_is_read_only_from_status_fields(error: Json, status: int | None) -> None:
    assert status_in(error) == status


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "a", "detail": "b"}, "a"),
        ({"message": None, "detail": "b"}, "b"),
        ({"Message": "c"}, "c"),
        ({"error": "d"}, "d"),
        ({"message": {"x": 1}}, ""),
    ],
)
def test_the_error_message_is_read_from_every_known_field(error: Json, message: str) -> None:
    assert message_in(error) == message


def test_strings_are_collected_up_to_a_maximum_depth() -> None:
    deep: object = "lost"
    for _ in range(2000):
        deep = [deep]

    assert list(all_strings({"a": "x", "b": ["y", {"c": "z"}, 1, None], "d": deep})) == [
        "x",
        "y",
        "z",
    ]


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("invalid_request_error", True),
        ("INVALID_ARGUMENT", True),
        ("validationException", True),
        ("model_not_found", True),
        ("api_error", False),
    ],
)
def test_generic_codes_for_an_invalid_request_are_recognised(code: str, refusal: bool) -> None:
    assert is_refusal(code) is refusal


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"error": {"message": "x"}}, True),
        ({"error": None, "choices": []}, False),
        ({"type": "error"}, True),
        ({"object": "error", "message": "x"}, True),
        ({"detail": "Not Found"}, True),
        ({"id": "x", "choices": [], "message": "x"}, False),
        ({"type": "message", "content": []}, False),
    ],
)
def test_an_error_object_is_recognised(value: Json, problem: bool) -> None:
    assert is_error_object(value) is problem
