"""Error responses in the formats of the providers."""

from __future__ import annotations

import msgspec

from pi.ai.errors import ProviderError, RateLimited
from pi.ai.failures.classify import from_status
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json
from pi.base.testing import FakeClock


def refused(status: int, body: Json | str | bytes = b"", **headers: str) -> ProviderError:
    """Return the error of ``from_status``; header names with ``_`` for ``-``."""
    fields = Headers((name.replace("_", "-"), value) for name, value in headers.items())
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    if isinstance(body, str):
        raw = body.encode()
    return from_status(status, fields, raw, FakeClock())


def openai(message: str, *, type: str = "invalid_request_error", code: str | None = None) -> Json:
    """As OpenAI writes it."""
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def anthropic(type: str, message: str) -> Json:
    """As Anthropic writes it."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_503"}


def google(code: int, status: str, message: str, *details: Json) -> Json:
    """As Google writes it."""
    return {"error": {"code": code, "message": message, "status": status, "details": [*details]}}


def wait(problem: ProviderError) -> float | None:
    """Return the retry delay of a rate limit."""
    assert isinstance(problem, RateLimited)
    return problem.retry_after
