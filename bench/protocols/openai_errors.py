"""The error body that all OpenAI endpoints share. Pure."""

from __future__ import annotations

from bench.protocols.script import Json


def problem(status: int, message: str, code: str | None) -> Json:
    """The error body of the service; it is the same for every ``status``."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return {"error": error}
