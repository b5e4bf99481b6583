"""Errors of requests to a provider.

ProviderError
├── AuthenticationFailed   the key is missing, wrong or expired
├── QuotaExhausted         credits or plan are used up, for hours or for ever: no retry
├── RateLimited            try again after ``retry_after`` seconds
├── ContextOverflow        the conversation no longer fits the model
├── ProviderUnavailable    5xx, dropped connection, timeout: worth a retry
├── AnswerRefused          the provider's filter stopped the response
├── BadAnswer              the provider broke its own protocol
├── AnswerTooLarge         the response exceeds one of pi's limits: a retry does not help
└── BadRequest             the provider rejected the request as invalid
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.records import UNSET, Record, UnsetType

LimitScope: TypeAlias = Literal["account", "model", "key", "provider", "gateway-upstream"]

MINUTE, DAY, MONTH, FIVE_HOURS, SEVEN_DAYS = "minute", "day", "month", "5 hours", "7 days"
CONCURRENCY, CREDITS, BILLING_CYCLE = "concurrency", "credits", "billing cycle"
CAPACITY = "capacity"


class LimitHit(Record, rename=None):
    """The limit that a request has hit."""

    scope: LimitScope
    """What is blocked."""
    window: str = ""
    """``minute``, ``5 hours``, ``7 days``, ``month``, ``credits`` …; empty if unknown."""
    resets_at: int | UnsetType = UNSET
    """Seconds since 1970, at most 8 days ahead; absent if unknown or never."""
    confidence: Literal["stated", "derived", "capped", "guessed"] = "stated"
    """Stated by the provider; derived from its rules; cut to 8 days; or a guess."""
    paid_alternative: str | UnsetType = UNSET
    """What the account could pay for instead of waiting, e.g. ``extra usage``."""


class ProviderError(PiError):
    """A failed request; ``retryable`` says whether a retry may help."""

    retryable = False

    def __init__(
        self, message: str, *, hint: str = "", status: int | None = None, code: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        """The HTTP status, where there was one."""
        self.code = code
        """The provider's own error code, e.g. ``insufficient_quota``."""
        self.limit: LimitHit | None = None
        """The limit that was hit, if it was one."""


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong or expired."""


class QuotaExhausted(ProviderError):
    """Credits or plan are used up: a retry after a short delay does not help.

    ``limit`` says when the plan resets, if that is known.
    """


class RateLimited(ProviderError):
    """Too many requests; ``retry_after`` is the delay the server requested, in seconds."""

    retryable = True

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint, status=status, code=code)
        self.retry_after = retry_after


class ContextOverflow(ProviderError):
    """The conversation no longer fits the model."""


class ProviderUnavailable(RateLimited):
    """The server or the connection to it is down; it may request a delay like a rate limit."""


class AnswerRefused(ProviderError):
    """The provider's filter stopped the response."""


class BadAnswer(ProviderError):
    """The provider broke its own protocol: an impossible event, or a stream that stops early."""

    retryable = True


class AnswerTooLarge(ProviderError):
    """The response, or one event of it, exceeds a limit of pi; the message names the limit.

    Not retryable: the next response would exceed it in the same way.
    """


class BadRequest(ProviderError):
    """The provider rejected the request as invalid."""
