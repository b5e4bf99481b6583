"""``pi auth login``: a login with plain prompts, without the full screen."""

from __future__ import annotations

import sys

from pi.ai.auth.login import LoginPrompt, LoginUI
from pi.ai.auth.sign_in import sign_in, sign_in_with_key
from pi.ai.auth.terminal_ui import TerminalUI
from pi.ai.factory import Network, make_services
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.cli.credentials import Credentials, NoCredentials
from pi.cli.standard_streams import print_error


async def _store_key(row: Provider, credentials: Credentials, ui: LoginUI) -> None:
    """Store an API key; on a terminal, only if the provider accepts it.

    A key from a pipe is stored unchecked: a script cannot enter another one.
    """
    host = credentials.host
    if host.offline or not sys.stdin.isatty():
        await sign_in_with_key(row, ui, storage=credentials.storage)
        return
    from pi.ai.auth.key_check import refusal  # deferred: imports the HTTP client

    models = credentials.models.get_models(row.id)
    services = make_services(host.environ, host.clock, Network())
    try:
        await sign_in_with_key(
            row,
            ui,
            storage=credentials.storage,
            check=lambda key: refusal(row, models, key, services.http),
        )
    finally:
        await services.close()


async def login(
    provider_name: str | None, credentials: Credentials, *, with_key: bool = False
) -> None:
    """Log in to a provider, or store an API key for one without a login."""
    ui: LoginUI = TerminalUI()
    row = await _provider(provider_name, credentials, ui)
    if with_key or row.login is None:
        if not row.needs_key:
            raise PiError(f"{row.name} needs no key.")
        await _store_key(row, credentials, ui)
        return
    host = credentials.host
    services = make_services(host.environ, host.clock, Network())
    try:
        await sign_in(
            row,
            ui,
            storage=credentials.storage,
            environ=host.environ,
            http=services.http,
            clock=host.clock,
            configured_key=credentials.keys.get(row.id),
            clients=credentials.clients,
            device_id=credentials.device_id,
        )
    finally:
        await services.close()


async def _provider(provider_name: str | None, credentials: Credentials, ui: LoginUI) -> Provider:
    rows = credentials.rows()
    if provider_name is None:
        print_error(", ".join(id for id, row in rows.items() if row.login or row.needs_key))
        provider_name = await ui.ask(LoginPrompt(kind="text", message="Provider"))
    if provider_name not in rows:
        raise NoCredentials(credentials.unknown(provider_name))
    return rows[provider_name]
