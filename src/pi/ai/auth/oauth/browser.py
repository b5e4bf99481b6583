"""The authorization code grant with PKCE: through a browser on this machine, or pasted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from pi.ai.auth.clients import LoginSettings
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login_ui import AuthUrl, Info, LoginUI, Progress, Prompt
from pi.ai.auth.oauth.callback import CallbackListener
from pi.ai.auth.oauth.pkce import new_pkce
from pi.ai.auth.oauth.tokens import Tokens, request_tokens
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock

LOGIN_SECONDS = 15 * 60.0
"""How long a person may take in the browser."""

_HERE = "Log in in your browser. If it runs on another machine, paste the address it ends at."
_ELSEWHERE = "Log in in your browser, then paste the address that it ends at."


async def browser_login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> Tokens:
    """Send the person to the vendor's page and trade the code it gives for tokens."""
    pkce = new_pkce()
    async with CallbackListener(
        path=settings.redirect_path, state=pkce.state, port=settings.redirect_port
    ) as listener:
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
        code = await browser_code(ui, listener, url, clock=clock, state=pkce.state)
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": listener.redirect_uri,
        "code_verifier": pkce.verifier,
    }
    if settings.token_state:
        fields["state"] = pkce.state
    ui.notify(Progress(message="Asking for the tokens…"))
    return await request_tokens(http, clock, settings, fields)


def page_url(page: str, parameters: Mapping[str, str]) -> str:
    """The address of a vendor's page; what is empty is left out."""
    given = {name: value for name, value in parameters.items() if value}
    return f"{page}{'&' if '?' in page else '?'}{urlencode(given)}"


async def browser_code(
    ui: LoginUI,
    listener: CallbackListener,
    url: str,
    *,
    clock: Clock,
    state: str | None,
) -> str:
    """The code, from the browser or from the person, whichever is first."""
    if not listener.listening:
        ui.notify(Info(message=f"{listener.redirect_uri} cannot be used: another program has it."))
    ui.notify(AuthUrl(url=url, instructions=_HERE if listener.listening else _ELSEWHERE))
    returned = asyncio.create_task(listener.code(), name="browser")
    pasted = asyncio.create_task(_pasted(ui, state), name="paste")
    too_late = asyncio.create_task(clock.sleep(LOGIN_SECONDS), name="patience")
    tasks = (returned, pasted, too_late)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for source in (returned, pasted):
            if source.done():
                return source.result()
        raise LoginFailed("Nobody logged in in time.", hint="Start the login again.")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pasted(ui: LoginUI, state: str | None) -> str:
    while True:
        text = await ui.ask(Prompt(kind="manual_code", message="Address or code:"))
        code, problem = read_pasted(text, state)
        if code:
            return code
        ui.notify(Info(message=problem))


def read_pasted(text: str, state: str | None) -> tuple[str, str]:
    """The code in what a person pasted, or else what is wrong with it.

    Understands the whole address, its query, ``code#state`` as some pages show it, and the bare
    code. A state that is there has to be ours.
    """
    text = text.strip()
    if "code=" in text or "error=" in text:
        query = dict(parse_qsl((text.partition("?")[2] or text).partition("#")[0]))
        code, given = query.get("code", ""), query.get("state", "")
        if "error" in query:
            return "", f"The login was refused: {query.get('error_description', query['error'])}"
    else:
        code, _, given = text.partition("#")
    if state is not None and given and given != state:
        return "", "This belongs to another or older login. Paste the address of this one."
    if not code or "://" in code or any(map(str.isspace, code)):
        return "", "There is no code in it. Paste the whole address, or the code that was shown."
    return code, ""
