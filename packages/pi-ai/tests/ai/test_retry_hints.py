from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.failures.retry_delay import requested_delay, retry_after
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json

NOW = 1_767_323_045_000
"""2026-01-02T03:04:05Z"""


@pytest.mark.behaviour("retry-hints-are-parsed")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "2592000"}, 2_592_000.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 GMT"}, 60.0),
        ({"retry-after": "Friday, 02-Jan-26 03:05:05 GMT"}, 60.0),
        ({"retry-after": "Fri Jan  2 03:05:05 2026"}, 60.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0.0),
        ({"retry-after": "1767323105"}, 60.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "900", "retry-after": "1"}, 0.9),
        ({"x-ratelimit-reset": "1767323105"}, 60.0),
        ({"x-ratelimit-reset": "1767323105000"}, 60.0),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"ratelimit-reset": "30"}, 30.0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-tokens": "10",
            },
            360.0,
        ),
        ({"anthropic-ratelimit-requests-reset": "2026-01-02T03:05:05Z"}, 60.0),
        ({"x-ratelimit-reset": "2026-01-02 03:05:05"}, 60.0),
        ({"x-ratelimit-reset": "2026-01-02T05:05:05+02:00"}, 60.0),
        ({"retry-after": "NaN"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_retry_delay_is_read_from_headers(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(Headers(headers.items()), "", NOW) == seconds


@pytest.mark.behaviour("retry-hints-are-parsed")
@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ("Please try again in 1m3.5s. Visit the site.", 63.5),
        ("Please try again in 20ms.", 0.02),
        ("Please retry in 32.431s.", 32.431),
        ("Limit reached. Resets in 2hr 15min", 8100.0),
        ("resets in 1 day, 2 hours and 3 minutes", 93_780.0),
        ("Resets in 2 weeks", 1_209_600.0),
        ("Please retry after 30 seconds.", 30.0),
        ("please wait 5.", 5.0),
        ("try again in 3 months", None),
        ("Your limit will reset at 2026-01-02T03:05:05Z", 60.0),
        ("Your limit will reset at 2026-01-02 03:05:05 UTC", 60.0),
        ("Your limit will reset at 2026-01-02 03:05:05", 60.0),
        ("Your limit will reset at 2026-01-02 03:00:00", 0.0),
        ("[1308][Usage limit reached. Your limit will reset at 2026-01-02 11:05:05][x]", 60.0),
        ("已达到 5 小时的使用上限。您的限额将在 2026-01-02 11:05:05 重置。", 60.0),
        ("Rate limit reached", None),
    ],
)
def test_the_retry_delay_is_read_from_error_messages(error: str, seconds: float | None) -> None:
    assert retry_after(Headers(), error, NOW) == seconds
    assert retry_after(Headers(), {"error": {"message": error}}, NOW) == seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (
            {
                "code": 429,
                "message": "Please retry in 99s.",
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"},
                ],
            },
            12.5,
        ),
        ({"type": "usage_limit_reached", "resets_in_seconds": 600}, 600.0),
        ({"type": "usage_limit_reached", "resets_at": 1_767_323_105}, 60.0),
        ({"error": {"retry_after_ms": 2500}}, 2.5),
        ({"metadata": {"headers": {"X-RateLimit-Reset": "1767323105000"}}}, 60.0),
        ({"retry_after": None, "retryDelay": True, "resets_at": []}, None),
        ({"retry_after": 10**400}, None),
        ({"retry_after": -1}, 0.0),
    ],
)
def test_the_retry_delay_is_read_from_fields_of_the_error(
    error: Json, seconds: float | None
) -> None:
    assert retry_after(Headers(), error, NOW) == seconds


def test_a_relative_header_has_priority_over_a_timestamp_in_the_message() -> None:
    headers = Headers([("retry-after-ms", "997000")])

    assert retry_after(headers, "Your limit will reset at 2026-01-02 23:00:00", NOW) == 997.0


def test_the_reset_time_of_a_rate_limit_is_not_a_requested_delay() -> None:
    headers = Headers([("x-ratelimit-reset-requests", "24h")])

    assert requested_delay(headers, "", NOW) is None
    assert retry_after(headers, "", NOW) == 86_400.0


def test_without_a_clock_only_relative_delays_are_read() -> None:
    assert retry_after(Headers(), "resets at 2026-01-02T03:05:05Z", None) is None
    assert retry_after(Headers(), {"resets_at": 1_767_323_105}, None) is None
    assert retry_after(Headers(), "try again in 5s", None) == 5.0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["retry-after", "retry-after-ms", "x-ratelimit-reset", "ratelimit-reset-x", "x-other"]
)
ODD = st.from_regex(r"[0-9:. ,+\-TZa-zJDSM]{0,30}", fullmatch=True) | st.text()
ERRORS = ODD | st.dictionaries(
    st.sampled_from(["retry_after", "resets_at", "headers", "x"]), VALUES
)


@pytest.mark.behaviour("retry-hints-are-parsed")
@given(st.lists(st.tuples(NAMES, ODD)), ERRORS, st.none() | st.integers(0, 10**13))
def test_the_retry_delay_is_always_a_finite_number_or_none(
    pairs: list[tuple[str, str]], error: Any, now_ms: int | None
) -> None:
    wait = retry_after(Headers(pairs), error, now_ms)

    assert wait is None or (wait >= 0 and math.isfinite(wait))
