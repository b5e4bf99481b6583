"""Errors of requests to a provider.

ProviderError
├── AuthenticationFailed   the key is missing, wrong or expired
├── QuotaExhausted         credits or plan are used up: waiting does not help
├── RateLimited            try again after ``retry_after`` seconds
├── ContextOverflow        the conversation no longer fits the model
├── ProviderUnavailable    5xx, dropped connection, timeout: worth a retry
├── AnswerRefused          the provider's filter stopped the response
├── BadAnswer              the provider broke its own protocol
├── AnswerTooLarge         the response exceeds one of pi's limits: a retry does not help
└── BadRequest             the provider rejected the request as invalid
"""

from __future__ import annotations

from pi.base.errors import PiError


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


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong or expired."""


class QuotaExhausted(ProviderError):
    """Credits or plan are used up: waiting does not help."""


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
