"""Token endpoint client; separates permanent refusals from temporary errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.errors import BadAnswer, ProviderError, ProviderUnavailable, RateLimited
from pi.ai.failures import details
from pi.ai.failures.classify import from_http, from_status
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import BadResponse, HttpError
from pi.ai.http.exchange import HttpResponse
from pi.ai.http.request import HttpRequest, Timeouts
from pi.ai.http.response_parser import Headers
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json
from pi.ai.request import Access
from pi.base.clock import Clock
from pi.base.records import Record, replace

LARGEST_ANSWER = 1024 * 1024
TIMEOUTS = Timeouts(connect=15.0, first_byte=30.0, idle=30.0)

FINAL_CODES = frozenset({
    "access_denied", "bad_refresh_token", "bad_verification_code", "device_flow_disabled",
    "expired_token", "incorrect_client_credentials", "invalid_client", "invalid_grant",
    "invalid_request", "invalid_scope", "invalid_token", "refresh_token_expired",
    "refresh_token_invalidated", "refresh_token_reused", "token_expired", "unauthorized_client",
    "unsupported_grant_type",
})  # fmt: skip
"""Codes that require a new login: RFC 6749, RFC 8628, GitHub's and OpenAI's own."""


class Tokens(Record, rename=None):
    """The tokens of a token endpoint."""

    access_token: Annotated[str, Meta(min_length=1)]
    refresh_token: str = ""
    id_token: str = ""
    scope: str = ""
    expires_in: float = 3600.0
    """Seconds; servers that omit it mean about an hour."""


class TokenResponse(NamedTuple):
    """A response of a token endpoint."""

    status: int
    headers: Headers
    raw: bytes
    body: Json
    """Empty if it is not a JSON object, e.g. the page of a firewall."""

    @property
    def code(self) -> str:
        """The server's error code, or an empty string; some send it with status 200."""
        if isinstance(error := self.body.get("error"), str):
            return error
        if error is None and self.status < 400:
            return ""
        return next(iter(details.codes(details.inner_error(self.body))), "")

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300 and bool(self.body) and not self.code

    @property
    def is_final(self) -> bool:
        """Whether it is a permanent refusal: an OAuth error code, or at least JSON with a 401."""
        if self.status == 429 or self.status >= 500:
            return False
        return self.code in FINAL_CODES or (self.status == 401 and bool(self.body))


async def post_form(
    http: HttpClient,
    url: str,
    fields: Mapping[str, str] | None = None,
    *,
    encoding: Literal["form", "json"] = "form",
    headers: Mapping[str, str] | None = None,
) -> TokenResponse:
    """Post ``fields``, or get ``url`` without them. Raises ``ProviderError`` if there is no
    response."""
    sent = {"User-Agent": user_agent(), "Accept": "application/json", **(headers or {})}
    body = b""
    if fields is not None:
        sent["Content-Type"], body = _encoded(fields, encoding)
    request = HttpRequest(
        url=url,
        method="GET" if fields is None else "POST",
        headers=tuple(sent.items()),
        body=body,
        timeouts=TIMEOUTS,
    )
    try:
        response = await http.request(request, limit=LARGEST_ANSWER)
    except HttpError as error:
        raise from_http(error) from error
    return TokenResponse(response.status, response.headers, response.body, _object(response))


def refusal(answer: TokenResponse, clock: Clock) -> ProviderError:
    """Return the error: ``GrantRefused`` if it is permanent, else a temporary one.

    A bare 403, the page of a firewall, a rate limit or a broken server is temporary: the same
    refresh may succeed a minute later.
    """
    error = details.inner_error(answer.body)
    description = answer.body.get("error_description") or details.message_in(error)
    if answer.is_final:
        reasons = dict.fromkeys(filter(None, (answer.code, str(description))))
        message = ": ".join(reasons) or "it gave no reason"
        return GrantRefused(
            f"The server refused: {message}", status=answer.status, code=answer.code
        )
    failure = from_status(answer.status, answer.headers, answer.raw, clock)
    if isinstance(failure, RateLimited):
        return failure
    return ProviderUnavailable(failure.message, status=answer.status, code=answer.code)


async def request_tokens(
    http: HttpClient, clock: Clock, settings: LoginSettings, fields: Mapping[str, str]
) -> Tokens:
    """Exchange a code or a refresh token for new tokens; the client id is added."""
    answer = await post_form(
        http,
        settings.token_url,
        {"client_id": settings.client_id, **settings.token_params, **fields},
        encoding=settings.token_encoding,
        headers=settings.headers,
    )
    if not answer.ok:
        raise refusal(answer, clock)
    return granted(answer)


def granted(answer: TokenResponse) -> Tokens:
    """Return the tokens of a response that is ``ok``."""
    fields = {name: value for name, value in answer.body.items() if value is not None}
    try:
        return msgspec.convert(fields, Tokens, strict=False)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"The server's tokens cannot be used: {error}.") from error


async def refresh_tokens(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return ``credential`` with new tokens; fields that the server does not send again stay."""
    fields = {"grant_type": "refresh_token", "refresh_token": credential.refresh}
    tokens = await request_tokens(http, clock, settings, fields)
    new = credential_of(tokens, clock, settings)
    return replace(new, refresh=new.refresh or credential.refresh, extra=credential.extra)


def credential_of(tokens: Tokens, clock: Clock, settings: LoginSettings) -> OAuthCredential:
    """Return tokens as they are stored, expiring a margin before the real expiry."""
    lifetime = tokens.expires_in - settings.margin
    return OAuthCredential(
        access=tokens.access_token,
        refresh=tokens.refresh_token,
        expires=clock.now_ms() + round(lifetime * 1000),
    )


def bearer(credential: OAuthCredential, settings: LoginSettings) -> Access:
    """Return the access token unchanged, and its headers."""
    return Access(api_key=credential.access, headers=dict(settings.request_headers), kind="oauth")


def _encoded(fields: Mapping[str, str], encoding: str) -> tuple[str, bytes]:
    if encoding == "json":
        return "application/json", msgspec.json.encode(dict(fields))
    from urllib.parse import urlencode  # lazy: slow to load, and most starts do not log in

    return "application/x-www-form-urlencoded", urlencode(fields).encode()


def _object(response: HttpResponse) -> Json:
    try:
        value = response.json()
    except BadResponse:
        return {}
    return value if isinstance(value, dict) else {}
