"""The HTTP status and kind of a failure, as clients of each provider expect them. Pure."""

from __future__ import annotations

from pi.extension import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    PiError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    Record,
)


class UnknownModel(PiError):
    """A client named a model that has no credentials here, or does not exist."""


class Problem(Record):
    """A failure as an HTTP response."""

    status: int
    kind: str
    """In the words of OpenAI and Anthropic."""
    retry: bool = False
    """Whether the client should try again; the official SDKs obey ``x-should-retry``."""


def problem_of(failure: Exception | None) -> Problem:
    """Returns the response for a failure before the answer began."""
    for kind, problem in _PROBLEMS.items():
        if isinstance(failure, kind):
            return problem
    return Problem(status=502, kind="api_error")


# The first that fits: ProviderUnavailable is a RateLimited as well.
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
