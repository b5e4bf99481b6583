"""Logs the user in and stores the new credential."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from pi.ai.auth.config_values import escape
from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.errors import LoginCancelled, StoreDamaged
from pi.ai.auth.login import LoginChoice, LoginInfo, LoginPrompt, LoginUI, load_login
from pi.ai.auth.login_settings import NO_CLIENTS, SETTING, login_settings
from pi.ai.auth.resolve import ResolvedCredential, unused_sources
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.base.clock import Clock
from pi.base.records import replace

if TYPE_CHECKING:  # entering a key must not load the HTTP client
    from pi.ai.http.client import HttpClient


async def sign_in(
    provider: Provider,
    ui: LoginUI,
    *,
    storage: AuthStorage,
    environ: Mapping[str, str],
    http: HttpClient,
    clock: Clock,
    configured_key: str | None = None,
    clients: Mapping[str, Json] = NO_CLIENTS,
    device_id: Callable[[], str] | None = None,
) -> OAuthCredential:
    """Log in through the provider's login; the credential is stored when this returns.

    The user is shown what is unknown about the login, and at the end who is billed from now on.
    ``device_id`` returns the UUID of this installation, for logins that name it.
    """
    login, settings = load_login(provider), login_settings(provider, clients)
    if settings.with_device and device_id is not None:
        settings = replace(settings, device_id=device_id())
    replaced = await _stored_before(storage, ui, provider)
    if settings.unknown:
        setting = f'"{SETTING}": {{"{provider.id}": …}}'
        ui.notify(LoginInfo(message=f"{settings.unknown} (In settings.json: {setting})"))
    credential = await login.login(ui, http, clock, settings)
    await storage.set(provider.id, credential)
    resolved = ResolvedCredential(
        access=login.access(credential, settings),
        source=storage.where,
        subscription=settings.subscription,
        unused=unused_sources(provider, environ, configured_key),
    )
    ui.notify(LoginInfo(message=f"Saved in {storage.where}.{replaced} {resolved.billing_note()}"))
    return credential


CheckKey: TypeAlias = Callable[[str], Awaitable[str]]
"""Returns why a key is refused; empty if it is not."""


async def sign_in_with_key(
    provider: Provider, ui: LoginUI, *, storage: AuthStorage, check: CheckKey | None = None
) -> ApiKeyCredential:
    """Ask for an API key and its variables, and store them.

    A key that ``check`` refuses is not stored, and the user is asked again.
    """
    replaced = await _stored_before(storage, ui, provider)
    key = await _ask_key(provider, ui)
    while check is not None and (refusal := await check(key)):
        ui.notify(LoginInfo(message=f"{refusal} Nothing was stored; paste another key."))
        key = await _ask_key(provider, ui)
    env = {
        name: (await ui.ask(LoginPrompt(kind="text", message=f"{name}:"))).strip()
        for name in provider.needed_variables
    }
    credential = ApiKeyCredential(key=escape(key), env=env)
    await storage.set(provider.id, credential)
    ui.notify(LoginInfo(message=f"Saved in {storage.where}.{replaced}"))
    return credential


async def _ask_key(provider: Provider, ui: LoginUI) -> str:
    prompt = LoginPrompt(kind="secret", message=f"API key for {provider.name}:")
    if key := (await ui.ask(prompt)).strip():
        return key
    raise LoginCancelled("No key was given.")


async def _stored_before(storage: AuthStorage, ui: LoginUI, provider: Provider) -> str:
    """Return a sentence about what will be replaced; checks that the store is writable.

    This happens before the login, so that a failure does not force the user to log in twice.
    """
    try:
        match (await storage.list()).get(provider.id):
            case ApiKeyCredential():
                return " It replaces the API key that was stored."
            case OAuthCredential():
                return " It replaces the login that was stored."
            case None:
                return ""
    except StoreDamaged as error:
        choices = (
            LoginChoice(id="aside", label="Move it aside and start with an empty one"),
            LoginChoice(id="stop", label="Leave it and stop here"),
        )
        prompt = LoginPrompt(kind="select", message=error.message, choices=choices)
        if await ui.ask(prompt) != "aside":
            raise LoginCancelled(error.message, hint=error.hint) from error
    ui.notify(LoginInfo(message=f"The old credentials are now in {await storage.set_aside()}."))
    return ""
