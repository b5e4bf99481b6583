"""Failures of a request as the errors of the client's format."""

from __future__ import annotations

from pi.ai.errors import (
    BadRequest,
    ContextOverflow,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.extension import (
    AuthenticationFailed,
    PiError,
    Record,
)


class UnknownModel(PiError):
    """A client named a model that has no credentials here, or does not exist."""


class Problem(Record):
    """A failure as an HTTP response."""

    status: int
    kind: str
    """Error type of OpenAI and Anthropic."""
    retry: bool = False
    """Whether the client should try again; the official SDKs obey ``x-should-retry``."""


def problem_of(failure: Exception | None) -> Problem:
    """Return the response for a failure before the answer began."""
    for kind, problem in _PROBLEMS.items():
        if isinstance(failure, kind):
            return problem
    return Problem(status=502, kind="api_error")


# The first match wins: ProviderUnavailable is a RateLimited as well.
_PROBLEMS: dict[type[PiError], Problem] = {
    UnknownModel: Problem(status=404, kind="not_found_error"),
    # Not 401: the client's own token for this gateway is right.
    AuthenticationFailed: Problem(status=403, kind="permission_error"),
    QuotaExhausted: Problem(status=429, kind="insufficient_quota"),
    ProviderUnavailable: Problem(status=503, kind="overloaded_error", retry=True),
    RateLimited: Problem(status=429, kind="rate_limit_error", retry=True),
    BadRequest: Problem(status=400, kind="invalid_request_error"),
    ContextOverflow: Problem(status=400, kind="invalid_request_error"),
}


def retry_after(failure: Exception | None) -> float | None:
    """Seconds that a client should wait; ``None`` if the provider named no time."""
    return failure.retry_after if isinstance(failure, RateLimited) else None
