"""Reads which limit a failed request has hit, and when it ends. Pure.

A reset time is a claim of the provider: it is never further ahead than ``MAX_AHEAD``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from pi.ai.errors import (
    CAPACITY,
    CREDITS,
    FIVE_HOURS,
    MINUTE,
    SEVEN_DAYS,
    LimitHit,
    LimitScope,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.limit_forms import LimitForm, ResetRule
from pi.ai.failures.retry_delay import absolute_seconds, requested_delay, retry_after
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json
from pi.base.records import UNSET, replace

MAX_AHEAD = 8 * 86_400
"""Seconds; a plan's window is a week at most, and a wrong zone or unit goes beyond it."""
LONG = 3600.0
"""Seconds from which a delay is credible for a limit per day; Gemini adds one of seconds."""

_UNIFIED = "anthropic-ratelimit-unified-"
_OVERLOAD_STATUSES = frozenset({429, 503, 529})


def read_limit(
    kind: type[ProviderError],
    form: LimitForm | None,
    error: Json,
    status: int | None,
    headers: Headers,
    now_ms: int,
) -> LimitHit | None:
    """Return the limit of a failure; ``None`` if it was none: an outage, a bad request."""
    if not issubclass(kind, QuotaExhausted | RateLimited):
        return None
    if kind is ProviderUnavailable:
        if form is None and status not in _OVERLOAD_STATUSES:
            return None
        limit = LimitHit(scope=_scope(form, error, "model"), window=CAPACITY)
        return _ending(limit, requested_delay(headers, error, now_ms), now_ms)
    if headers.get(f"{_UNIFIED}status") == "rejected":
        return _claude_plan(headers, error, now_ms)
    seconds = retry_after(headers, error, now_ms)
    if form is None:
        return _ending(_general(kind, error, status, seconds), seconds, now_ms)
    window = form.window or _plan_window(headers)
    limit = _with_credits(LimitHit(scope=form.scope, window=window), headers)
    return _with_rule(limit, form.reset, seconds, now_ms)


def _general(
    kind: type[ProviderError], error: Json, status: int | None, seconds: float | None
) -> LimitHit:
    """Return the limit of an unknown form."""
    if kind is QuotaExhausted:
        window = CREDITS if status == 402 and seconds is None else ""
        return LimitHit(scope=_scope(None, error, "account"), window=window)
    # A rate limit of one model says nothing about the account.
    return LimitHit(
        scope=_scope(None, error, "model"),
        window=MINUTE if seconds is None or seconds <= 60 else "",
        confidence="guessed" if seconds is None else "stated",
    )


def _scope(form: LimitForm | None, error: Json, scope: LimitScope) -> LimitScope:
    if form is not None:
        return form.scope
    metadata = error.get("metadata")
    is_gateway = isinstance(metadata, dict) and bool(metadata.get("provider_name"))
    return "gateway-upstream" if is_gateway else scope


def _ending(limit: LimitHit, seconds: float | None, now_ms: int) -> LimitHit:
    """Return the limit with its end in so many seconds."""
    if seconds is None:
        return limit
    if seconds > MAX_AHEAD:
        seconds, limit = MAX_AHEAD, replace(limit, confidence="capped")
    return replace(limit, resets_at=round(now_ms / 1000 + seconds))


def _with_rule(limit: LimitHit, rule: ResetRule, seconds: float | None, now_ms: int) -> LimitHit:
    """Return the limit with the end that the response states, or else by the provider's rule."""
    if rule == "never":
        return limit
    if rule == "pacific_day" and seconds is not None and seconds < LONG:
        seconds = None
    if seconds is not None or not rule:
        return _ending(limit, seconds, now_ms)
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    end = _next_month(now) if rule == "month" else _next_day(now.astimezone(_pacific()))
    return _ending(replace(limit, confidence="derived"), (end - now).total_seconds(), now_ms)


def _next_month(now: datetime) -> datetime:
    later = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)
    return later.replace(day=1)


def _next_day(now: datetime) -> datetime:
    # Aware times of one zone are compared without it: a day may have 23 hours.
    later = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return later.astimezone(UTC)


def _pacific() -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # lazy: for limits only

    try:
        return ZoneInfo("America/Los_Angeles")
    except ZoneInfoNotFoundError:  # a system without zones: at most one hour late
        return timezone(timedelta(hours=-8))


# Plans --------------------------------------------------------------------------------------------


def _claude_plan(headers: Headers, error: Json, now_ms: int) -> LimitHit:
    """Return the limit of a Claude plan, which names the exhausted window in a header."""
    claim = headers.get(f"{_UNIFIED}representative-claim")
    window = SEVEN_DAYS if claim.startswith("seven_day") else FIVE_HOURS if claim else ""
    is_model = claim.removeprefix("seven_day") not in ("", claim) or "opus" in claim
    abbreviation = {FIVE_HOURS: "5h-", SEVEN_DAYS: "7d-"}.get(window, "")
    resets = (headers.get(f"{_UNIFIED}{name}reset") for name in ("", abbreviation))
    seconds = next(
        (value for value in (absolute_seconds(text, now_ms) for text in resets) if value), None
    )
    if seconds is None:
        seconds = retry_after(headers, error, now_ms)
    is_overage = headers.get(f"{_UNIFIED}overage-status").startswith("allowed")
    limit = LimitHit(
        scope="model" if is_model else "account",
        window=window,
        paid_alternative="extra usage" if is_overage else UNSET,
    )
    return _ending(limit, seconds, now_ms)


def _plan_window(headers: Headers) -> str:
    """Return the window of a ChatGPT plan that is used up; empty if no header says so."""
    for name in ("secondary", "primary"):
        used = headers.get(f"x-codex-{name}-used-percent")
        if used.partition(".")[0].isdigit() and float(used) >= 100:
            minutes = headers.get(f"x-codex-{name}-window-minutes")
            if minutes.isdigit():
                return SEVEN_DAYS if int(minutes) > 2 * 1440 else f"{int(minutes) // 60} hours"
    return ""


def _with_credits(limit: LimitHit, headers: Headers) -> LimitHit:
    has_credits = headers.get("x-codex-credits-has-credits").strip().lower() == "true"
    return replace(limit, paid_alternative="credits") if has_credits else limit
