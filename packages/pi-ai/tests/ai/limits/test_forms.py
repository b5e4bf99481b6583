from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pi.ai import errors
from pi.ai.errors import ProviderError
from pi.ai.failures.classify import from_error_object, from_status
from pi.ai.failures.limits import MAX_AHEAD
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json
from pi.base.records import UNSET
from pi.base.testing import FakeClock

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC).timestamp()
ROWS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("forms.toml").read_text(encoding="utf-8")
)["limit"]


def read(row: dict[str, Any]) -> ProviderError:
    """Return the error for the response of a row."""
    body = str(row["body"]).encode()
    clock = FakeClock(round(NOW * 1000))
    return from_status(row["status"], Headers(row.get("headers", {}).items()), body, clock)


def expected_reset(row: dict[str, Any]) -> object:
    match row.get("resets"):
        case None:
            return UNSET
        case "capped":
            return round(NOW) + MAX_AHEAD
        case stamp:
            return round(datetime.fromisoformat(stamp).timestamp())


def test_at_least_60_forms_are_listed_with_the_day_of_their_row() -> None:
    assert len(ROWS) >= 60
    assert len({row["source"] for row in ROWS}) == len(ROWS)
    assert all(row["added"] for row in ROWS)


@pytest.mark.behaviour("retry-hints-are-parsed", "quota-errors-fail-fast")
@pytest.mark.parametrize("row", ROWS, ids=[row["source"] for row in ROWS])
def test_a_listed_form_has_its_class_its_scope_and_its_reset(row: dict[str, Any]) -> None:
    problem = read(row)

    assert type(problem) is getattr(errors, row["kind"])
    limit = problem.limit
    if "scope" not in row:
        assert limit is None
        return
    assert limit is not None
    assert (limit.scope, limit.window) == (row["scope"], row["window"])
    assert limit.resets_at == expected_reset(row)
    assert limit.confidence == row["confidence"]
    assert limit.paid_alternative == row.get("paid_alternative", UNSET)


@pytest.mark.parametrize(
    ("error", "window"),
    [
        ({"type": "usage_limit_reached", "resets_at": round(NOW) + 7200}, ""),
        ({"error": {"code": "1308", "message": "reset at 2026-11-19 22:00:00"}}, "5 hours"),
        ({"error": {"message": "Key limit exceeded", "code": 402}}, ""),
    ],
)
def test_a_limit_inside_a_stream_is_read_like_a_refused_request(error: Json, window: str) -> None:
    problem = from_error_object(error, clock=FakeClock(round(NOW * 1000)))

    assert type(problem) is errors.QuotaExhausted
    assert problem.limit is not None
    assert problem.limit.window == window


def test_a_daily_limit_of_google_ends_at_midnight_in_california_also_in_summer() -> None:
    body = b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"RequestsPerDay"}}'
    summer = datetime(2026, 7, 1, 12, tzinfo=UTC)
    problem = from_status(429, Headers(), body, FakeClock(round(summer.timestamp() * 1000)))

    assert problem.limit is not None
    end = datetime(2026, 7, 2, 7, tzinfo=UTC)
    assert problem.limit.resets_at == round(end.timestamp())


def test_a_spend_cap_ends_on_the_first_of_the_next_month() -> None:
    body = b'{"error":{"details":{"error_code":"enforced_spend_limit_reached"}}}'
    december = datetime(2026, 12, 30, 12, tzinfo=UTC)
    problem = from_status(429, Headers(), body, FakeClock(round(december.timestamp() * 1000)))

    assert problem.limit is not None
    assert problem.limit.confidence == "derived"
    assert problem.limit.resets_at == round(datetime(2027, 1, 1, tzinfo=UTC).timestamp())


def test_a_reset_that_has_passed_is_now() -> None:
    body = b'{"error":{"type":"usage_limit_reached","resets_at":1700000000}}'
    problem = from_status(429, Headers(), body, FakeClock(round(NOW * 1000)))

    assert problem.limit is not None
    assert problem.limit.resets_at == round(NOW)
