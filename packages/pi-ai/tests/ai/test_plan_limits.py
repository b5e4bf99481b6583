from __future__ import annotations

import pytest

from pi.ai.plan_limits import PlanLimit, plan_limits


def test_shares_of_a_claude_plan_are_read() -> None:
    headers = {
        "Anthropic-Ratelimit-Unified-5h-Utilization": "0.34",
        "Anthropic-Ratelimit-Unified-5h-Reset": "1790000000",
        "anthropic-ratelimit-unified-7d-utilization": "0.9",
    }

    assert plan_limits(headers, now=0) == (
        PlanLimit(name="5 hours", used_percent=34.0, resets_at=1790000000),
        PlanLimit(name="7 days", used_percent=90.0),
    )


def test_windows_of_a_chatgpt_plan_are_named_by_their_length() -> None:
    headers = {
        "x-codex-primary-used-percent": "12.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-after-seconds": "60",
        "x-codex-secondary-used-percent": "3",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": "1790000000",
    }

    assert plan_limits(headers, now=1000) == (
        PlanLimit(name="5 hours", used_percent=12.5, resets_at=1060),
        PlanLimit(name="7 days", used_percent=3, resets_at=1790000000),
    )


@pytest.mark.parametrize("value", ["", "many", "nan", "-1", "inf", "1e300"])
def test_a_header_without_a_valid_percentage_is_ignored(value: str) -> None:
    headers = {"anthropic-ratelimit-unified-5h-utilization": value}

    assert plan_limits(headers, now=0) == ()


def test_rate_limits_per_minute_are_not_plan_limits() -> None:
    assert plan_limits({"x-ratelimit-remaining-requests": "5"}, now=0) == ()
