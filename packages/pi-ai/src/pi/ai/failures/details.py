"""Reads the details of a failure: codes, status and message. Pure.

Codes take precedence over the status, and both over the wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pi.ai.errors import (
    AnswerRefused,
    AuthenticationFailed,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.messages import Json

_CODES: dict[type[ProviderError], str] = {
    ContextOverflow: """
        context_length_exceeded context_window_exceeded exceed_context_size_error
        model_context_window_exceeded 1261""",
    QuotaExhausted: """
        insufficient_quota quota_exceeded exceeded_current_quota_error billing_error
        billing_hard_limit_reached billing_not_active payment_required insufficient_balance
        insufficient_credits credits_error usage_limit_reached usage_limit_exceeded
        usage_not_included free_usage_limit_error subscription_usage_limit_error
        monthly_limit_reached spend_limit_reached service_quota_exceeded_exception
        1113 1304 1308 1309 1310""",
    AuthenticationFailed: """
        invalid_api_key missing_api_key api_key_invalid authentication_error permission_error
        unauthorized unauthenticated permission_denied access_denied access_denied_exception
        unrecognized_client_exception expired_token_exception invalid_signature_exception
        missing_authentication_token_exception token_expired invalid_token account_deactivated""",
    RateLimited: """
        rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited
        too_many_requests too_many_requests_exception too_many_tokens_error throttling
        throttling_exception throttling_rate_quota limit_requests limit_burst_rate
        resource_exhausted service_tier_capacity_exceeded 1300 1302 1303 1305 3505""",
    ProviderUnavailable: """
        overloaded overloaded_error engine_overloaded_error server_error server_overloaded
        server_is_overloaded slow_down internal_error internal_server_error
        internal_server_exception internal_failure_exception internal unavailable
        service_unavailable service_unavailable_error service_unavailable_exception
        model_not_ready_exception model_timeout_exception model_error_exception
        model_stream_error_exception deadline_exceeded aborted cancelled timeout timeout_error
        bad_gateway gateway_timeout""",
    AnswerRefused: """
        content_filter content_policy_violation responsible_ai_policy_violation""",
}

_CODE_FIELDS = ("code", "error_code", "reason", "__type", "status", "type", "name")
_STATUS_FIELDS = ("status", "status_code", "statusCode", "http_status", "http_code", "code")
_ENVELOPE_FIELDS = ("__type", *_STATUS_FIELDS)
_MESSAGE_FIELDS = ("message", "Message", "detail", "msg", "error_message", "error")
MAX_DEPTH = 6

# Patterns are compiled by the first failure, not at import, which every first request pays for.
_GENERIC_REFUSALS = r"invalid|unsupported|validation|badrequest|notfound|unimplemented"
"""Parts of unspecific codes: they count only where there is no status."""


def plain_code(code: str) -> str:
    """Return a code without its spelling: ``com.x#ThrottlingException:http://…`` → its bare
    letters."""
    name = code.rpartition("#")[2].partition(":")[0]
    return "".join(filter(str.isalnum, name.lower()))


_KINDS = {plain_code(code): kind for kind, codes in _CODES.items() for code in codes.split()}


def inner_error(error: Json) -> Json:
    """Return the object that describes the error, without its envelopes."""
    for _ in range(MAX_DEPTH):
        inner = error.get("error")
        if not isinstance(inner, dict) or not inner:
            break
        # Some servers write the code on the envelope.
        outside = {name: error[name] for name in _ENVELOPE_FIELDS if name in error}
        error = {**outside, **inner}
    return error


def codes(error: Json) -> tuple[str, ...]:
    """Return the provider's codes for the error, the most specific first."""
    fields = [error.get(name) for name in _CODE_FIELDS]
    details = error.get("details")
    if isinstance(details, dict):  # Anthropic: the reason of a rate limit
        fields.insert(0, details.get("error_code"))
    elif isinstance(details, list):  # Google: ErrorInfo is more specific than the status
        fields[:0] = [detail.get("reason") for detail in details if isinstance(detail, dict)]
    return tuple(str(field) for field in fields if _is_code(field))


def kind_of_code(code: str) -> type[ProviderError] | None:
    """Return the meaning of a code that is clear whatever the status is."""
    return _KINDS.get(plain_code(code))


def is_refusal(code: str) -> bool:
    """Whether a code blames the request, in general terms."""
    return re.search(_GENERIC_REFUSALS, plain_code(code)) is not None


def status_in(error: Json) -> int | None:
    """Return the HTTP status that a field of the object names."""
    for name in _STATUS_FIELDS:
        value = error.get(name)
        if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value):
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def message_in(error: Json) -> str:
    """Return the message for users, or an empty string."""
    texts = (error.get(name) for name in _MESSAGE_FIELDS)
    return next((text for text in texts if isinstance(text, str) and text), "")


def all_strings(value: object, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield every string in a JSON value, e.g. the upstream's own error inside a gateway's."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from all_strings(inner, depth - 1)


def is_error_object(value: Json) -> bool:
    """Whether a JSON object that came instead of a response is an error object."""
    return (
        bool(value.get("error"))
        or value.get("type") == "error"
        or value.get("object") == "error"
        or (bool(message_in(value)) and not {"choices", "candidates", "content"} & value.keys())
    )


def _is_code(field: object) -> bool:
    return isinstance(field, str | int) and not isinstance(field, bool) and field != ""
