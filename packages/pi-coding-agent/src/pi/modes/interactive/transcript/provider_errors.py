"""Explains errors of providers: what happened and what to do."""

from __future__ import annotations

import re

from pi.ai.messages import AssistantMessage
from pi.base.records import UNSET, UnsetType

_REFUSED_KEY = re.compile(r"(?<!\S)401:? ")
_LOGIN_HINT = "Check the API key; /login stores another one."
_PASSING = frozenset({"rate_limit", "overload", "outage"})


def describe_provider_error(error: str) -> str:
    """Return the message of an error without the JSON around it: ``Slow down (HTTP 429)``.

    A second line says what to do, if that is known. Other texts are returned unchanged.
    """
    from pi.ai.failures.sentence import describe_message  # deferred: few sessions show an error

    text, hint = describe_message(error)
    hint = _LOGIN_HINT if _REFUSED_KEY.search(error) else hint
    return f"{text}\n{hint}" if hint else text


def describe_failed_answer(message: AssistantMessage) -> str:
    """Return why an answer failed, with the end of a limit and what to do; empty if unknown."""
    error = "" if isinstance(message.error_message, UnsetType) else message.error_message
    failure = message.failure
    if isinstance(failure, UnsetType) or failure.limit is UNSET:
        return describe_provider_error(error)
    # A failure that pi retries is one row; its next step is a line where waiting has an end.
    is_short = failure.kind in _PASSING and " until " not in failure.text
    return failure.text if is_short or not failure.next else f"{failure.text}\n{failure.next}"
