from __future__ import annotations

import pytest

from pi.ai import errors


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        (errors.AuthenticationFailed, False),
        (errors.QuotaExhausted, False),
        (errors.RateLimited, True),
        (errors.ContextOverflow, False),
        (errors.ProviderUnavailable, True),
        (errors.AnswerRefused, False),
        (errors.BadAnswer, True),
        (errors.BadRequest, False),
    ],
)
def test_each_error_class_has_a_retryable_flag(
    kind: type[errors.ProviderError], retryable: bool
) -> None:
    error = kind("what", status=418, code="teapot")

    assert (error.retryable, error.status, error.code, str(error)) == (
        retryable,
        418,
        "teapot",
        "what",
    )
