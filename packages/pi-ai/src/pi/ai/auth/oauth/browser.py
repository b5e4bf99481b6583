"""Authorization code flow with PKCE: through a browser on this machine, or a pasted address."""

from __future__ import annotations

import asyncio
import hashlib
import os
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl, urlencode

from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import AuthUrl, LoginInfo, LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.loopback import CallbackListener, ExpectedIssuer
from pi.ai.auth.oauth.tokens import Tokens, request_tokens
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock, RandomBytes
from pi.base.records import Record


class Pkce(Record):
    """The secrets of one authorization.

    The state is visible in the browser's address bar, so it must not be the verifier; the original
    pi uses one value for both with Anthropic, whose server accepts any.
    """

    verifier: str
    state: str

    @property
    def challenge(self) -> str:
        """The hash of the verifier (S256), sent first; the verifier proves it at the token
        endpoint."""
        return _base64url(hashlib.sha256(self.verifier.encode()).digest())


def new_pkce(random_bytes: RandomBytes = os.urandom) -> Pkce:
    """Return new secrets."""
    return Pkce(verifier=_base64url(random_bytes(32)), state=_base64url(random_bytes(24)))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


LOGIN_SECONDS = 15 * 60.0
"""Timeout of a login in the browser."""

_IN_BROWSER = "Log in in your browser. If it runs on another machine, paste the address it ends at."
_PASTE = "Log in in your browser, then paste the address that it ends at."


async def browser_login(
    ui: LoginUI,
    http: HttpClient,
    clock: Clock,
    settings: LoginSettings,
    *,
    register: Callable[[str], Awaitable[LoginSettings]] | None = None,
    returned: Callable[[Mapping[str, str]], LoginSettings] | None = None,
) -> Tokens:
    """Send the user to the vendor's page and exchange the code for tokens.

    ``register`` gets the redirect URI and returns the settings to use, for servers that register
    clients. ``returned`` gets the parameters of the browser's answer and returns the settings for
    the tokens, for servers that register the client on their page.
    """
    pkce = new_pkce()
    issuer = ExpectedIssuer(name=settings.issuer, is_required=settings.issuer_required)
    async with CallbackListener(
        path=settings.redirect_path,
        state=pkce.state,
        port=settings.redirect_port,
        issuer=issuer,
        host=settings.redirect_host,
    ) as listener:
        if register is not None:
            settings = await register(listener.redirect_uri)
        parameters = {
            **settings.authorize_params,
            "client_id": settings.client_id,
            "response_type": "code",
            "redirect_uri": listener.redirect_uri,
            "scope": settings.scope,
            "code_challenge": pkce.challenge,
            "code_challenge_method": "S256",
            "state": pkce.state,
        }
        url = page_url(settings.authorize_url, parameters)
        code = await browser_code(ui, listener, url, clock=clock, state=pkce.state, issuer=issuer)
    if returned is not None:
        settings = returned(listener.parameters)
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": listener.redirect_uri,
        "code_verifier": pkce.verifier,
    }
    if settings.token_state:
        fields["state"] = pkce.state
    ui.notify(LoginProgress(message="Asking for the tokens…"))
    return await request_tokens(http, clock, settings, fields)


def page_url(page: str, parameters: Mapping[str, str]) -> str:
    """Return the URL of a vendor's page; empty parameters are left out."""
    query = {name: value for name, value in parameters.items() if value}
    return f"{page}{'&' if '?' in page else '?'}{urlencode(query)}"


async def browser_code(
    ui: LoginUI,
    listener: CallbackListener,
    url: str,
    *,
    clock: Clock,
    state: str | None,
    issuer: ExpectedIssuer | None = None,
) -> str:
    """Return the code, from the browser or pasted by the user, whichever is first."""
    if not listener.listening:
        ui.notify(
            LoginInfo(message=f"{listener.redirect_uri} cannot be used: another program has it.")
        )
    ui.notify(AuthUrl(url=url, instructions=_IN_BROWSER if listener.listening else _PASTE))
    returned = asyncio.create_task(listener.code(), name="browser")
    pasted = asyncio.create_task(_pasted(ui, listener, state, issuer), name="paste")
    timeout = asyncio.create_task(clock.sleep(LOGIN_SECONDS), name="patience")
    tasks = (returned, pasted, timeout)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for source in (returned, pasted):
            if source.done():
                return source.result()
        raise LoginFailed("Login timed out.", hint="Start the login again.")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pasted(
    ui: LoginUI, listener: CallbackListener, state: str | None, issuer: ExpectedIssuer | None
) -> str:
    while True:
        text = await ui.ask(LoginPrompt(kind="manual_code", message="Address or code:"))
        code, reason = read_pasted(text, state, issuer)
        if code:
            listener.parameters = _query_of(text)
            return code
        ui.notify(LoginInfo(message=reason))


def read_pasted(
    text: str, state: str | None, issuer: ExpectedIssuer | None = None
) -> tuple[str, str]:
    """Return the code in pasted text, or else the reason why there is none.

    Accepts the whole address, its query, ``code#state`` as some pages show it, and the bare code. A
    state in it has to match. If the issuer is required, only an address or its query has it.
    """
    text, query = text.strip(), {}
    if "code=" in text or "error=" in text:
        query = _query_of(text)
        code, received_state = query.get("code", ""), query.get("state", "")
        if "error" in query:
            return "", f"The login was refused: {query.get('error_description', query['error'])}"
    else:
        code, _, received_state = text.partition("#")
    if state is not None and received_state and received_state != state:
        return "", "This belongs to another or older login. Paste the address of this one."
    if code and issuer is not None and (mismatch := issuer.problem(query.get("iss", ""))):
        return "", f"{mismatch} Paste the whole address of this login."
    if not code or "://" in code or any(map(str.isspace, code)):
        return "", "There is no code in it. Paste the whole address, or the code that was shown."
    return code, ""


def _query_of(text: str) -> dict[str, str]:
    """Return the parameters of an address, or of its query."""
    return dict(parse_qsl((text.partition("?")[2] or text).partition("#")[0].strip()))
