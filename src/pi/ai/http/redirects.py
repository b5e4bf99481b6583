"""Where a redirect leads. Pure."""

from __future__ import annotations

from pi.ai.http.errors import BadResponse, InvalidRequest
from pi.ai.http.headers import Headers
from pi.ai.http.request import HttpRequest
from pi.ai.http.urls import parse_url
from pi.base.records import replace

_STATUSES = frozenset({301, 302, 303, 307, 308})
_SAFE_ELSEWHERE = frozenset({"accept", "accept-encoding", "accept-language", "range", "user-agent"})


def redirected(request: HttpRequest, status: int, headers: Headers) -> HttpRequest | None:
    """The request to make next, or None when this response is the answer.

    Another origin gets no header that could be a credential, and https never falls back to http.
    """
    if status not in _STATUSES or request.method not in ("GET", "HEAD") or not request.redirects:
        return None
    if not (location := headers.get("location")):
        return None
    from urllib.parse import urljoin  # redirects are rare and this import costs 3 ms

    here = parse_url(request.url).origin
    try:
        there_url = urljoin(request.url, location)
        there = parse_url(there_url).origin
    except (ValueError, InvalidRequest) as problem:
        raise BadResponse(f"{here.netloc} redirects to what is not a URL.") from problem
    if here.scheme == "https" and there.scheme == "http":
        raise BadResponse(f"{here.netloc} redirects from https to plain http; not followed.")
    kept = request.headers
    if there != here:
        kept = tuple(pair for pair in kept if pair[0].lower() in _SAFE_ELSEWHERE)
    return replace(request, url=there_url, headers=kept, redirects=request.redirects - 1)
