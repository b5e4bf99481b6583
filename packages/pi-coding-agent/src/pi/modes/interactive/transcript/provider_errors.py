"""Explains errors of providers: what happened and what to do."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_WITHOUT_WORDS = re.compile(r"(\d{3}): (a web page .*|the server gave no reason)\Z")
_MEANINGS = {
    "401": "The key was refused",
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
_REFUSED_KEY = re.compile(r"(?<!\S)401:? ")
_LOGIN_HINT = "Check the API key; /login stores another one."


def describe_provider_error(error: str) -> str:
    """Return the message of an error without the JSON around it: ``Slow down (HTTP 429)``.

    A status without such a message is named: ``Overloaded (HTTP 529)``. Other texts are returned
    unchanged. A second line says what to do, if that is known.
    """
    from pi.ai.failures.classify import WITH_JSON, hint_for  # deferred: few sessions show an error

    hint = _LOGIN_HINT if _REFUSED_KEY.search(error) else hint_for(error)
    match = re.search(WITH_JSON, error, re.DOTALL)
    message = _with_meaning(error) if match is None else _without_json(error, match)
    return f"{message}\n{hint}" if hint else message


def _without_json(error: str, match: re.Match[str]) -> str:
    status, body = match.groups()
    try:
        message = _message_in(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError):  # not JSON, or nested too deeply
        return error
    return f"{error[: match.start()]}{message} (HTTP {status})" if message else error


def _with_meaning(error: str) -> str:
    match = _WITHOUT_WORDS.match(error)
    meaning = _MEANINGS.get(match[1]) if match else None
    if match is None or meaning is None:
        return error
    text = f"{meaning} (HTTP {match[1]})"
    # The title of a firewall's page explains a refusal; that of a gateway repeats its status.
    is_explained = match[1].startswith("4") and "titled" in match[2]
    return f"{text}: {match[2]}" if is_explained else text


def _message_in(body: Any) -> str:
    """Return the message in an error body, by the fields that vendors use."""
    match body:
        case {"error": dict() as inner}:
            return _message_in(inner)
        case {"message": str(message)} | {"error": str(message)} | {"detail": str(message)}:
            return message.strip()
        case _:
            return ""
