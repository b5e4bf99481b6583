"""Log in to GitHub Copilot: device code at GitHub, then a short-lived Copilot token."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.device import device_login
from pi.ai.auth.oauth.tokens import bearer, post_form, refusal
from pi.ai.errors import BadAnswer, ProviderError
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json
from pi.ai.request import Access
from pi.base.clock import Clock
from pi.base.records import Record, replace

ENTERPRISE = "enterpriseUrl"
"""Extra field: the domain of a company's own GitHub."""
MODELS = "availableModelIds"
"""Extra field: the models of this plan."""

_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d+)?")
_PROXY = re.compile(r"(?:^|;)proxy-ep=(?:proxy\.)?([A-Za-z0-9.-]+)(?:;|$)")


class _CopilotToken(Record, rename=None):
    token: Annotated[str, Meta(min_length=1)]
    expires_at: float
    """Seconds since 1970."""


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in at github.com or at their company's own GitHub."""
    question = "Domain of your GitHub Enterprise, or nothing for github.com:"
    answer = await ui.ask(LoginPrompt(kind="text", message=question, placeholder="company.ghe.com"))
    domain = enterprise_domain(answer)
    extra = {ENTERPRISE: domain} if domain else {}
    tokens = await device_login(ui, http, clock, at_domain(domain, settings))
    ui.notify(LoginProgress(message="Asking for the Copilot token…"))
    github = OAuthCredential(access="", refresh=tokens.access_token, expires=0, extra=extra)
    credential = await refresh(github, http, clock, settings)
    models = await _models(credential, http, settings)
    return replace(credential, extra={**credential.extra, **models})


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return a new Copilot token for the same GitHub login."""
    settings = at_domain(credential.extra.get(ENTERPRISE), settings)
    headers = {**settings.headers, "Authorization": f"Bearer {credential.refresh}"}
    answer = await post_form(http, settings.key_url, headers=headers)
    if not answer.ok:
        raise refusal(answer, clock)
    try:
        copilot = msgspec.convert(answer.body, _CopilotToken, strict=False)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"GitHub's Copilot token cannot be used: {error}.") from error
    return replace(
        credential,
        access=copilot.token,
        expires=round((copilot.expires_at - settings.margin) * 1000),
    )


def access(credential: OAuthCredential, settings: LoginSettings) -> Access:
    """Return the token, and the server that it is for."""
    return replace(bearer(credential, settings), base_url=base_url(credential, settings))


def base_url(credential: OAuthCredential, settings: LoginSettings) -> str:
    """Return the URL of this plan's models: from the token, else from the company's domain."""
    if match := _PROXY.search(credential.access):
        return f"https://api.{match[1]}"
    if domain := credential.extra.get(ENTERPRISE):
        return f"https://copilot-api.{domain}"
    return settings.base_url


def enterprise_domain(text: str) -> str | None:
    """Return the host of the user's input, a URL or a bare domain; ``None`` for github.com."""
    host = text.strip().lower().rpartition("://")[2].partition("/")[0]
    if host in ("", "github.com"):
        return None
    if not _DOMAIN.fullmatch(host):
        raise LoginFailed(f"{text!r} is not a domain.", hint="Type e.g. company.ghe.com.")
    return host


def at_domain(domain: str | None, settings: LoginSettings) -> LoginSettings:
    """Return the endpoints of a company's own GitHub."""
    if domain is None:
        return settings
    return replace(
        settings,
        device_url=settings.device_url.replace("//github.com/", f"//{domain}/"),
        token_url=settings.token_url.replace("//github.com/", f"//{domain}/"),
        key_url=settings.key_url.replace("//api.github.com/", f"//api.{domain}/"),
    )


async def _models(credential: OAuthCredential, http: HttpClient, settings: LoginSettings) -> Json:
    """Return the models of this plan, to be stored; nothing if the server does not list them."""
    headers = {**settings.headers, "Authorization": f"Bearer {credential.access}"}
    try:
        answer = await post_form(http, f"{base_url(credential, settings)}/models", headers=headers)
    except ProviderError:
        return {}  # a login without the list is better than none
    rows = answer.body.get("data") if answer.ok else None
    if not isinstance(rows, list):
        return {}
    return {MODELS: [row["id"] for row in rows if _usable(row)]}


def _usable(row: object) -> bool:
    match row:
        case {"id": str(), "policy": {"state": "disabled"}}:
            return False
        case {"id": str()}:
            return True
        case _:
            return False
