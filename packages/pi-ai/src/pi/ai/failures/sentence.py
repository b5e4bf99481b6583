"""Failures as users read them: one sentence, with a time where it is known, and the next step.

Sessions and events keep the message of a failure in the form of the original pi, which is a status
and JSON. ``RequestFailure`` stands beside it.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

from pi.ai.errors import (
    BILLING_CYCLE,
    CAPACITY,
    CONCURRENCY,
    CREDITS,
    DAY,
    MINUTE,
    MONTH,
    AnswerRefused,
    AnswerTooLarge,
    AuthenticationFailed,
    BadAnswer,
    BadRequest,
    ContextOverflow,
    LimitHit,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.classify import hint_for
from pi.ai.failures.message_text import parse_document
from pi.ai.messages import FailureKind, RequestFailure
from pi.base.records import UNSET, UnsetType

LONG_WAIT = 60
"""Seconds to a reset from which a sentence names the time."""

_WITH_DOCUMENT = r"(?<!\S)(\d{3}):? +(\{.*)\Z"
_WITHOUT_WORDS = r"(\d{3}): (a web page .*|the server gave no reason)\Z"
_MEANINGS = {
    "401": "The key was refused",
    "402": "Payment is required",
    "403": "Access was refused",
    "404": "Not found",
    "408": "The request timed out",
    "429": "Too many requests",
    "500": "Server error",
    "502": "Bad gateway",
    "503": "Service unavailable",
    "504": "Gateway timed out",
    "529": "Overloaded",
}
"""Statuses that proxies send with a page of their own instead of an error of the provider."""

_KINDS: tuple[tuple[type[ProviderError], FailureKind], ...] = (
    (QuotaExhausted, "quota"),
    (ProviderUnavailable, "outage"),
    (RateLimited, "rate_limit"),
    (ContextOverflow, "context"),
    (AuthenticationFailed, "authentication"),
    (AnswerRefused, "refusal"),
    (AnswerTooLarge, "answer"),
    (BadAnswer, "answer"),
    (BadRequest, "request"),
)
_LIMITS = {
    MINUTE: "Rate limit",
    DAY: "Daily limit",
    MONTH: "Monthly limit",
    BILLING_CYCLE: "Limit of the billing cycle",
    CONCURRENCY: "Limit of requests at once",
    CREDITS: "No credits",
    CAPACITY: "Overloaded",
}
_LATER = "Try again later, or choose another model."
_AFTER_RESET = "Continue after that time, or choose another model."


def describe_failure(error: ProviderError, now_ms: int) -> RequestFailure:
    """Return what users and programs are shown of an error."""
    text, hint = describe_message(error.message)
    limit = error.limit
    if limit is not None and is_long(limit, now_ms):
        text = f"{_limit_until(limit, now_ms)}: {text}"
        paid = "" if limit.paid_alternative is UNSET else f", or use {limit.paid_alternative}"
        next_step = f"{_AFTER_RESET[:-1]}{paid}."
    else:
        next_step = error.hint or hint or (_LATER if error.retryable else "")
    return RequestFailure(
        kind=_kind(error),
        text=text,
        next=next_step,
        limit=UNSET if limit is None else limit,
    )


def is_long(limit: LimitHit, now_ms: int) -> bool:
    """Whether a limit ends later than pi would wait."""
    resets_at = limit.resets_at
    return not isinstance(resets_at, UnsetType) and resets_at - now_ms / 1000 > LONG_WAIT


def describe_message(message: str) -> tuple[str, str]:
    """Return the message of an error without the JSON around it, and what to do, if known.

    ``429: {"message":"Slow down"}`` becomes ``Slow down (HTTP 429)``. A status without such a
    message is named: ``Overloaded (HTTP 529)``. Other texts are returned unchanged.
    """
    match = re.search(_WITH_DOCUMENT, message, re.DOTALL)
    text = _with_meaning(message) if match is None else _without_json(message, match)
    return text, hint_for(message)


def _kind(error: ProviderError) -> FailureKind:
    window = "" if error.limit is None else error.limit.window
    kinds = (kind for class_, kind in _KINDS if isinstance(error, class_))
    kind: FailureKind = next(kinds, "other")
    match kind:
        case "quota" if window == CREDITS:
            return "billing"
        case "outage" if window == CAPACITY:
            return "overload"
        case "rate_limit" if window not in ("", MINUTE, CONCURRENCY):
            return "quota"  # the limit of a plan
        case _:
            return kind


def _limit_until(limit: LimitHit, now_ms: int) -> str:
    """Return the name of a limit and the local time of its end."""
    name = _LIMITS.get(limit.window)
    if name is None:
        name = re.sub(r"(\d+) (\w+)s\Z", r"\1-\2 limit", limit.window) or "Limit"
    if limit.scope == "model" and limit.window != CAPACITY:
        name += " of this model"
    if limit.confidence == "capped":
        return f"{name} for more than a week"
    assert isinstance(limit.resets_at, int)
    # The next full minute: at the named time the limit has ended.
    end = datetime.fromtimestamp(math.ceil(limit.resets_at / 60) * 60, UTC).astimezone()
    is_today = end.date() == datetime.fromtimestamp(now_ms / 1000, UTC).astimezone().date()
    return f"{name} until {end:%H:%M %Z}" if is_today else f"{name} until {end:%Y-%m-%d %H:%M %Z}"


def _without_json(error: str, match: re.Match[str]) -> str:
    status, body = match.groups()
    document = parse_document(body.encode("utf-8", "replace"))  # it may be truncated
    return f"{error[: match.start()]}{_message_in(document, status)} (HTTP {status})"


def _with_meaning(error: str) -> str:
    match = re.match(_WITHOUT_WORDS, error)
    meaning = _MEANINGS.get(match[1]) if match else None
    if match is None or meaning is None:
        return error
    text = f"{meaning} (HTTP {match[1]})"
    # The title of a firewall's page explains a refusal; that of a gateway repeats its status.
    is_explained = match[1].startswith("4") and "titled" in match[2]
    return f"{text}: {match[2]}" if is_explained else text


def _message_in(body: Any, status: str) -> str:
    """Return the message in an error body, by the fields that vendors use."""
    match body:
        case {"error": dict() as inner}:
            return _message_in(inner, status)
        case (
            {"message": str(message)}
            | {"Message": str(message)}
            | {"error": str(message)}
            | {"detail": str(message)}
            | {"msg": str(message)}
            | {"error_message": str(message)}
        ) if message.strip():
            return " ".join(message.split())
        case _:
            return _MEANINGS.get(status, "The request failed")
