"""Why a request to a provider failed.

ProviderError
├── AuthenticationFailed   the key is missing, wrong or expired
├── QuotaExhausted         the money or the plan is used up: waiting does not help
├── RateLimited            try again after ``retry_after`` seconds
├── ContextOverflow        the conversation no longer fits the model
├── ProviderUnavailable    5xx, dropped connection, timeout: worth a retry
├── AnswerRefused          the provider's filter ended the answer
├── BadAnswer              the provider broke its own protocol
├── AnswerTooLarge         the answer exceeds one of pi's limits: asking again does not help
└── BadRequest             we sent something the provider refuses
"""

from __future__ import annotations

from pi.base.errors import PiError


class ProviderError(PiError):
    """A request that failed; ``retryable`` says whether asking again may help."""

    retryable = False

    def __init__(
        self, message: str, *, hint: str = "", status: int | None = None, code: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        """The HTTP status, where there was one."""
        self.code = code
        """The provider's own name for the problem, e.g. ``insufficient_quota``."""


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong or expired."""


class QuotaExhausted(ProviderError):
    """The money or the plan is used up: waiting does not help."""


class RateLimited(ProviderError):
    """Too many requests; ``retry_after`` is what the server asked for, in seconds."""

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
    """The server or the way to it is down; like a rate limit it may say when to come back."""


class AnswerRefused(ProviderError):
    """The provider's filter ended the answer."""


class BadAnswer(ProviderError):
    """The provider broke its own protocol: an event that cannot be, a stream that stops early."""

    retryable = True


class AnswerTooLarge(ProviderError):
    """The answer, or one event of it, exceeds a limit of pi; the message names the limit.

    Not retryable: the next answer would be received and thrown away in the same way.
    """


class BadRequest(ProviderError):
    """We sent something the provider refuses."""
