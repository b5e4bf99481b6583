"""Log in to ChatGPT for its Codex models: PKCE in the browser, or OpenAI's own device code."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import DeviceCode, LoginProgress, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.browser import browser_login
from pi.ai.auth.oauth.device import INTERVAL, Wait, not_yet, poll, prefers_device
from pi.ai.auth.oauth.tokens import (
    TokenResponse,
    Tokens,
    bearer,
    credential_of,
    post_form,
    refresh_tokens,
    refusal,
    request_tokens,
)
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.clock import Clock
from pi.base.records import Record, replace

ACCOUNT = "accountId"
"""Extra field, and the variable in which the wire finds the account of the requests."""
CLAIM = "https://api.openai.com/auth"
CODE_SECONDS = 900.0
R = TypeVar("R", bound=Record)

_NOT_YET = (403, 404)
"""OpenAI's statuses for a device code that is not confirmed yet."""


class _DeviceAuthorization(Record, rename=None):
    device_auth_id: str
    user_code: str
    interval: float = INTERVAL


class _Confirmation(Record, rename=None):
    authorization_code: Annotated[str, Meta(min_length=1)]
    code_verifier: str


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in, with the flow they choose."""
    flow = _device_login if await prefers_device(ui) else browser_login
    credential = credential_of(await flow(ui, http, clock, settings), clock, settings)
    if not account_id(credential.access):
        raise BadAnswer("OpenAI's token names no ChatGPT account.", hint="Log in once more.")
    return _with_account(credential)


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return the credential with new tokens of the same account."""
    return _with_account(await refresh_tokens(credential, http, clock, settings))


def access(credential: OAuthCredential, settings: LoginSettings) -> Access:
    """Return the token, and the account it belongs to."""
    account = credential.extra.get(ACCOUNT)
    return replace(bearer(credential, settings), env={ACCOUNT: account} if account else {})


def _with_account(credential: OAuthCredential) -> OAuthCredential:
    account = account_id(credential.access)
    named = {ACCOUNT: account} if account else {}
    return replace(credential, extra={**credential.extra, **named})


def account_id(token: str) -> str | None:
    """Return the ChatGPT account that a token was issued for."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        account = claims[CLAIM]["chatgpt_account_id"]
    except (ValueError, LookupError, TypeError):  # msgspec's and base64's errors are ValueErrors
        return None
    return account if isinstance(account, str) else None


async def _device_login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> Tokens:
    """OpenAI's device flow returns a code and a verifier, which are exchanged for tokens as
    usual."""
    fields = {"client_id": settings.client_id}
    answer = await post_form(
        http, settings.device_url, fields, encoding="json", headers=settings.headers
    )
    if not answer.ok:
        raise refusal(answer, clock)
    device = _read(answer, _DeviceAuthorization)
    page = DeviceCode(user_code=device.user_code, url=settings.device_page, expires_in=CODE_SECONDS)
    ui.notify(page)
    ui.notify(LoginProgress(message="Waiting until the code is confirmed…"))

    async def confirmation() -> _Confirmation | Wait:
        fields = {"device_auth_id": device.device_auth_id, "user_code": device.user_code}
        answer = await post_form(
            http, settings.device_token_url, fields, encoding="json", headers=settings.headers
        )
        if answer.status in _NOT_YET:
            return Wait()
        return _read(answer, _Confirmation) if answer.ok else not_yet(answer, clock)

    code = await poll(confirmation, clock=clock, interval=device.interval, expires_in=CODE_SECONDS)
    return await request_tokens(
        http,
        clock,
        settings,
        {
            "grant_type": "authorization_code",
            "code": code.authorization_code,
            "code_verifier": code.code_verifier,
            "redirect_uri": settings.device_redirect,
        },
    )


def _read(answer: TokenResponse, kind: type[R]) -> R:
    try:
        return msgspec.convert(answer.body, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"OpenAI's answer cannot be used: {error}.") from error
