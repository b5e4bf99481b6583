"""Reads the details of a failure: codes, status, message, and the requested retry delay. Pure.

Codes take precedence over the status, and both over the wording. Relative delays take precedence
over timestamps: they do not depend on two clocks and a time zone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone

from pi.ai.errors import (
    AnswerRefused,
    AuthenticationFailed,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.http.response_parser import Headers
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
_DEPTH = 6

# Patterns are compiled by the first failure, not at import, which every first request pays for.
_GENERIC_REFUSALS = r"invalid|unsupported|validation|badrequest|notfound|unimplemented"
"""Parts of unspecific codes: they count only where there is no status."""
_AMOUNT = (
    r"(\d+(?:\.\d+)?)\s*"
    r"(ms|millisecond|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?(?![a-z])"
)
_DURATION = rf"{_AMOUNT}(?:[\s,]*(?:and\s+)?{_AMOUNT})*"
_DELAY_IN_TEXT = (
    rf"(?:again in|retry in|retry after|resets? in|available in|back in|wait(?: for)?)\s+"
    rf"(?:about\s+)?(?P<wait>{_DURATION}|\d+(?:\.\d+)?(?!\s*[a-z]|\.?\d))"
)
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:\s?Z|\s?[+-]\d\d:?\d\d|\s?UTC)?"
_STAMP_IN_TEXT = (
    rf"(?:resets?|again|retry|available)(?: again)? (?:at|after|on)\s+(?P<stamp>{_STAMP})"
    rf"|将在\s*(?P<chinese>{_STAMP})\s*重置"
)
_ZAI = r"\[13\d\d\]|将在"
_RESET_HEADER = r"(?:x-)?ratelimit-reset(?:-[a-z-]+)?|(?:anthropic|x)-ratelimit-[a-z-]+-reset"

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BEIJING = timezone(timedelta(hours=8))
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11
"""Larger numbers are not durations: they count from 1970."""
_DELAY_HEADERS = (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0))
_DELAY_FIELDS = (
    ("retry_after_ms", 0.001),
    ("retryAfterMs", 0.001),
    ("retry_after", 1.0),
    ("retryAfter", 1.0),
    ("retry_after_seconds", 1.0),
    ("resets_in_seconds", 1.0),
    ("retryDelay", 1.0),
    ("resets_at", 1.0),
    ("reset_at", 1.0),
    ("resetsAt", 1.0),
)


def _plain(code: str) -> str:
    """Return a code without its spelling: ``com.x#ThrottlingException:http://…`` → its bare
    letters."""
    name = code.rpartition("#")[2].partition(":")[0]
    return "".join(filter(str.isalnum, name.lower()))


_KINDS = {_plain(code): kind for kind, codes in _CODES.items() for code in codes.split()}


# Codes, status and message -----------------------------------------------------------------------


def inner_error(error: Json) -> Json:
    """Return the object that describes the error, without its envelopes."""
    for _ in range(_DEPTH):
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
    if isinstance(details, list):  # Google: ErrorInfo is more specific than the status
        fields[:0] = [detail.get("reason") for detail in details if isinstance(detail, dict)]
    return tuple(str(field) for field in fields if _is_code(field))


def kind_of_code(code: str) -> type[ProviderError] | None:
    """Return the meaning of a code that is clear whatever the status is."""
    return _KINDS.get(_plain(code))


def is_refusal(code: str) -> bool:
    """Whether a code blames the request, in general terms."""
    return re.search(_GENERIC_REFUSALS, _plain(code)) is not None


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


def all_strings(value: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yield every string in a JSON value, e.g. the upstream's own error inside a gateway's."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from all_strings(inner, depth - 1)


def is_daily_quota(error: Json) -> bool:
    """Whether Google names a quota per day: its ``retryDelay`` of seconds is useless then."""
    return any("PerDay" in text for text in all_strings(error.get("details")))


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


# Retry delays -------------------------------------------------------------------------------------


def retry_after(headers: Headers, error: Json | str, now_ms: int | None) -> float | None:
    """Return the seconds to wait before a retry, from any field or text; never negative.

    Without ``now_ms`` only relative delays can be understood.
    """
    delay = requested_delay(headers, error, now_ms)
    return _limit_reset(headers, now_ms) if delay is None else delay


def requested_delay(headers: Headers, error: Json | str, now_ms: int | None) -> float | None:
    """Like ``retry_after``, but without the state of rate limits, which many responses carry."""
    delay = _first(_in_headers(headers, now_ms))
    if delay is None and isinstance(error, dict):
        delay = _first(_in_object(error, now_ms, _DEPTH))
    if delay is None:
        delay = _first(_in_text(text, now_ms) for text in all_strings(error))
    return delay


def _first(waits: Iterable[float | None]) -> float | None:
    return next((wait for wait in waits if wait is not None), None)


def _in_headers(headers: Headers, now_ms: int | None) -> Iterator[float | None]:
    for name, scale in _DELAY_HEADERS:
        for value in headers.get_all(name):
            yield _scaled(value, scale, now_ms)


def _limit_reset(headers: Headers, now_ms: int | None) -> float | None:
    """Return when the exhausted limits are reset; without exhausted ones, the next reset."""
    resets: list[float] = []
    used_up: list[float] = []
    for name, value in headers:
        if not re.fullmatch(_RESET_HEADER, name) or (wait := _wait(value, now_ms)) is None:
            continue
        resets.append(wait)
        if headers.get(name.replace("reset", "remaining")).strip() in ("0", "0.0"):
            used_up.append(wait)
    return max(used_up) if used_up else min(resets, default=None)


def _in_object(error: Json, now_ms: int | None, depth: int) -> Iterator[float | None]:
    for name, scale in _DELAY_FIELDS:
        yield _scaled(error.get(name), scale, now_ms)
    # OpenRouter passes on the upstream's headers
    if isinstance(headers := error.get("headers"), Mapping):
        pairs = Headers((name, str(value)) for name, value in headers.items())
        yield retry_after(pairs, "", now_ms)
    if depth:
        for inner in _children(error):
            if isinstance(inner, dict):
                yield from _in_object(inner, now_ms, depth - 1)


def _children(error: Json) -> Iterator[object]:
    for value in error.values():
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _in_text(text: str, now_ms: int | None) -> float | None:
    if match := re.search(_DELAY_IN_TEXT, text, re.IGNORECASE):
        return _wait(match["wait"], now_ms)
    if match := re.search(_STAMP_IN_TEXT, text, re.IGNORECASE):
        # z.ai's timestamps are in Beijing time without a zone; read as UTC they are eight hours
        # late.
        zone = _BEIJING if re.search(_ZAI, text) else UTC
        return _until(match["stamp"] or match["chinese"], now_ms, zone)
    return None


def _scaled(value: object, scale: float, now_ms: int | None) -> float | None:
    """Parse a field whose plain number is a duration in units of ``scale`` seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    except ValueError:
        return _wait(str(value), now_ms)
    return _from_number(number if number >= _EPOCH_SECONDS else number * scale, now_ms)


def _wait(value: str, now_ms: int | None) -> float | None:
    """Return the seconds in ``value``: a number, a duration, or a timestamp."""
    value = value.strip()
    if not value:
        return None
    try:
        return _from_number(float(value), now_ms)
    except ValueError:
        pass
    if re.fullmatch(_DURATION, value, re.IGNORECASE):
        parts = re.findall(_AMOUNT, value, re.IGNORECASE)
        return _finite(sum(float(amount) * _unit(unit) for amount, unit in parts))
    return _until(value, now_ms, UTC)


def _unit(name: str) -> float:
    name = name.lower()
    return _SECONDS["ms"] if name.startswith(("ms", "milli")) else _SECONDS[name[0]]


def _from_number(number: float, now_ms: int | None) -> float | None:
    if not math.isfinite(number):
        return None
    if number < _EPOCH_SECONDS:
        return max(number, 0.0)
    moment_ms = number if number >= _EPOCH_MILLISECONDS else number * 1000
    return None if now_ms is None else max((moment_ms - now_ms) / 1000, 0.0)


def _until(stamp: str, now_ms: int | None, zone: timezone) -> float | None:
    moment = _moment(stamp, zone)
    return None if moment is None or now_ms is None else max(moment - now_ms / 1000, 0.0)


def _moment(stamp: str, zone: timezone) -> float | None:
    """Return seconds since 1970 of an ISO timestamp, in ``zone`` by default, or of an HTTP
    date."""
    try:
        moment = datetime.fromisoformat(stamp.replace("UTC", "Z").replace(" Z", "Z"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return _http_date(stamp)


def _http_date(stamp: str) -> float | None:
    from email.utils import mktime_tz, parsedate_tz  # lazy: 10 ms for a rare header

    try:
        parts = parsedate_tz(stamp)
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None
