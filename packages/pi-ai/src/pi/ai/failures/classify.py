"""Maps an HTTP status, an error object or an HTTP error to a typed ProviderError. Pure.

The code fields of the provider's error object decide first, then the HTTP status; the wording only
where both are ambiguous. Loose digits never count.
"""

from __future__ import annotations

import re

from pi.ai.errors import (
    AnswerTooLarge,
    AuthenticationFailed,
    BadAnswer,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures import details
from pi.ai.failures.limit_forms import LimitForm, matching_form
from pi.ai.failures.limits import read_limit
from pi.ai.failures.message_text import (
    described_error,
    message_of,
    parse_document,
    readable_body,
    summarise,
    truncate,
)
from pi.ai.failures.overflow import is_overflow, is_rate_wording
from pi.ai.failures.retry_delay import requested_delay, retry_after
from pi.ai.http.errors import (
    BadResponse,
    BodyTooLarge,
    HttpError,
    InvalidRequest,
    ProxyFailed,
    TlsFailed,
)
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock
from pi.base.errors import PiError

_PASSING = frozenset({408, 409, 425})
"""Statuses below 500 after which a retry may succeed."""
_OVERFLOW_STATUSES = frozenset({None, 400, 413, 422, 500})
_BUSY_STATUSES = frozenset({400, 403, 404, 422})
_QUOTA_STATUSES = frozenset({None, 400, 403, 429})

# Patterns are compiled by the first failure, not at import, which every first request pays for.
_QUOTA = (
    r"credit balance is too low|insufficient (?:balance|credits?|funds|quota)|out of credits"
    r"|exceeded your (?:current )?quota|quota (?:has been )?exceeded|usage limit|使用上限"
    r"|(?:monthly|weekly|daily|spend(?:ing)?|billing)(?: usage| hard)? (?:limit|cap)\b"
)
_SHORT_WINDOW = (
    r"per[ -](?:second|minute|min)\b|\b[TR]PM\b|too many requests|(?:retry|again) in [\d.]+ ?m?s\b"
)
"""The quota resets in a moment: a rate limit, whatever its code."""
_BROKEN_CALL = r"error parsing tool call|failed to parse (?:input at pos|tool call)"
"""Local servers that cannot parse their own model's tool call."""
_BUSY = (
    r"overloaded|at capacity|(?:currently|temporarily) (?:busy|unavailable)|server_busy|peak load"
    r"|upstream provider returned an error|unable to forward upstream"
    r"|stream disconnected before completion"
)
"""A gateway's own words for a passing failure, which some send with a status of the request."""
_NO_KEY = r"unauthori[sz]ed|invalid api key|api key not valid"
_WITH_JSON = r"(?<!\S)(\d{3}):? +(\{.*\})\s*\Z"
"""A message that ends with a status and the JSON of a refusal."""
_WITH_TEXT = r"(\d{3}): (.*)"

_HINTS: dict[type[ProviderError], str] = {
    AuthenticationFailed: "Log in again or check the API key.",
    QuotaExhausted: "Check the plan and the billing of this account, or choose another model.",
    ContextOverflow: "Compact the conversation or choose a model with a larger context window.",
}
_MOVED = "The server has moved: check the provider's base URL."
_STATUS_HINTS = {
    **dict.fromkeys((301, 302, 303, 307, 308), _MOVED),
    403: "Check what the key may do; a firewall or a blocked region answers 403 too.",
    404: "Check the model's name and the provider's base URL.",
    405: "Check the provider's base URL.",
    413: "The request is too large in bytes: leave out images or files, or compact.",
}
_BROKEN_CALL_HINT = "Ask again in other words, or choose a model that is better at calling tools."
_HTTP_HINTS: dict[type[HttpError], str] = {
    InvalidRequest: "Check the provider's base URL, headers and key.",
    ProxyFailed: "Check the proxy and its setting.",
    TlsFailed: "Check the certificates of this machine and of the server.",
}


def from_status(status: int, headers: Headers, body: bytes, clock: Clock) -> ProviderError:
    """Return the error for a response with a status other than 2xx."""
    document = parse_document(body)
    error = described_error(document) if document else {"message": readable_body(body)}
    if amazon := headers.get("x-amzn-errortype"):
        error = {"__type": amazon.partition(":")[0], **error}
    summary = summarise(document) if document else error["message"]
    message = f"{status}: {summary or 'the server gave no reason'}"
    return _typed(message, error, status, headers, clock.now_ms())


def from_error_object(
    error: Json | str, *, status: int | None = None, clock: Clock | None = None
) -> ProviderError:
    """Return the error for an error object inside a stream, in any provider's form."""
    if isinstance(error, str):
        error = {"message": error}
    inner = described_error(error)
    status = status or details.status_in(inner)
    now_ms = None if clock is None else clock.now_ms()
    return _typed(message_of(inner, status), inner, status, Headers(), now_ms)


def from_http(error: HttpError) -> ProviderError:
    """Return the error for an HTTP exchange without a complete response."""
    hint = error.hint or _HTTP_HINTS.get(type(error), "")
    if error.retryable:
        return ProviderUnavailable(error.message, hint=hint)
    # Sessions and events keep only the message of an error, and no status that ``hint_for`` knows.
    message = PiError(error.message, hint=hint).explain()
    match error:
        case BodyTooLarge():
            return AnswerTooLarge(message)
        case BadResponse():
            return BadAnswer(message)
        case InvalidRequest():
            return BadRequest(message)
        case _:
            return ProviderError(message)


def from_body(first_bytes: bytes) -> ProviderError | None:
    """Return the error for a 200 response that was not an event stream; ``None`` if it was
    empty."""
    document = parse_document(first_bytes)
    if document and details.is_error_object(document):
        return from_error_object(document)
    text = readable_body(first_bytes)
    if not text:
        return None
    hint = "Check the provider's base URL."
    if document:
        return BadAnswer(f"The server answered without a stream: {truncate(text, 200)}", hint=hint)
    message = f"The server answered with text instead of a stream: {text}"
    return _typed(message, {"message": text}, None, Headers(), None, hint=hint)


def hint_for(message: str) -> str:
    """Return what to do about the message of an error with a status; empty if nothing is known.

    Sessions and events have only the message, in the form of the original pi, and not the error.
    """
    match = re.search(_WITH_JSON, message, re.DOTALL) or re.match(_WITH_TEXT, message, re.DOTALL)
    if match is None:
        return ""
    document = parse_document(match[2].encode("utf-8", "replace"))
    error = described_error(document) if document else {"message": match[2]}
    return _typed(message, error, int(match[1]), Headers(), None).hint


def _typed(
    message: str,
    error: Json,
    status: int | None,
    headers: Headers,
    now_ms: int | None,
    *,
    hint: str = "",
) -> ProviderError:
    """Return an error of the right class; ``hint`` is for classes without a hint of their own."""
    text = "\n".join(details.all_strings(error))
    codes = details.codes(error)
    form = matching_form(codes, text, status)
    kind, code = _kind(form, codes, text, status)
    if kind is ProviderUnavailable and _matches(_BROKEN_CALL, text):
        return ProviderError(message, hint=_BROKEN_CALL_HINT, status=status, code=code)
    hint = _HINTS.get(kind, hint)
    if kind in (AuthenticationFailed, BadRequest):
        hint = _STATUS_HINTS.get(status or 0, hint)
    if issubclass(kind, RateLimited):
        # Many responses carry the state of the rate limits: it matters for a rate limit only.
        hint_of = requested_delay if kind is ProviderUnavailable else retry_after
        wait = hint_of(headers, error, now_ms)
        problem: ProviderError = kind(
            message, hint=hint, status=status, code=code, retry_after=wait
        )
    else:
        problem = kind(message, hint=hint, status=status, code=code)
    # Errors inside a stream come without a clock.
    moment_ms = SystemClock().now_ms() if now_ms is None else now_ms
    problem.limit = read_limit(kind, form, error, status, headers, moment_ms)
    return problem


def _kind(
    form: LimitForm | None, names: tuple[str, ...], text: str, status: int | None
) -> tuple[type[ProviderError], str]:
    """Return the class of the error, and its code."""
    first_word = next((name for name in names if not name.isdigit()), "")
    if form is not None and form.kind is not None:
        named = (name for name in names if details.kind_of_code(name) is form.kind)
        return form.kind, next(named, first_word)
    for name in names:
        kind = details.kind_of_code(name)
        if kind is not None:
            return kind, name
    return _kind_by_wording(names, text, status), first_word


def _kind_by_wording(names: tuple[str, ...], text: str, status: int | None) -> type[ProviderError]:
    """Without a clear code, the wording counts where the status is ambiguous."""
    if status in _OVERFLOW_STATUSES and is_overflow(text):
        return ContextOverflow
    if status in _QUOTA_STATUSES and _mentions_quota(text):
        return QuotaExhausted
    if status in _BUSY_STATUSES and _matches(_BUSY, text):
        return ProviderUnavailable
    return _kind_of_unknown(names, text) if status is None else _kind_by_status(status)


def _kind_by_status(status: int) -> type[ProviderError]:
    match status:
        case 401 | 403:
            return AuthenticationFailed
        case 402:
            return QuotaExhausted
        case 429:
            return RateLimited
        case _ if status >= 500 or status in _PASSING:
            return ProviderUnavailable
        case _:
            return BadRequest


def _kind_of_unknown(names: tuple[str, ...], text: str) -> type[ProviderError]:
    """Without a status and a clear code it is the server's error, unless the wording blames us."""
    if any(map(details.is_refusal, names)):
        return BadRequest
    if is_rate_wording(text):
        return RateLimited
    return AuthenticationFailed if _matches(_NO_KEY, text) else ProviderUnavailable


def _mentions_quota(text: str) -> bool:
    return _matches(_QUOTA, text) and not _matches(_SHORT_WINDOW, text)


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
