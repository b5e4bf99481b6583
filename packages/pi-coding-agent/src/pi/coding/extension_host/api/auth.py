"""``pi.auth``: credentials of providers and services, logins, and sources of credentials."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pi.ai.auth.config_values import escape, expand, remember_used
from pi.ai.auth.credentials import NEVER, ApiKeyCredential, Credential, OAuthCredential
from pi.ai.auth.storage import AuthStorage
from pi.ai.provider import Provider
from pi.ai.request import Access
from pi.base.records import Record, replace
from pi.coding.bus import At
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.contributions.credentials import (
    AuthSource,
    AuthSources,
    Describe,
    FindKey,
    LoginCallbacks,
    OAuthClient,
    OAuthConfig,
    Rejected,
    Tokens,
    credential_from,
    oauth_from,
    remember_secrets,
)
from pi.coding.extension_host.contributions.providers import Service
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Registration
from pi.coding.port.ui import ExtensionUI

if TYPE_CHECKING:
    from pi.ai.auth.login import LoginPrompt, LoginUI, Notice
    from pi.ai.auth.login_settings import LoginSettings

RegisterClient: TypeAlias = Callable[[str], Awaitable[OAuthClient]]
"""Registers the client for a redirect URI and returns it."""


class StoredCredential(Record):
    """An entry of the credential store, without its secrets."""

    name: str
    kind: Literal["api_key", "oauth"]
    expires: int | None = None
    """When the access token expires, in milliseconds since 1970; ``None`` for a key."""


class ExtensionAuth:
    """API keys and logins of providers and other services; extensions can add sources and logins.

    Names are those of providers and services. Credentials are stored in the user's ``auth.json``.
    """

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._sources = AuthSources(instance.state.registries.auth_sources, instance.state.failed)

    # Reading --------------------------------------------------------------------------------------

    async def get(self, name: str, env: Sequence[str] = ()) -> str | None:
        """The key for ``name``: from a source, the store, or the first variable of ``env`` that is
        set; else ``None``.
        """
        access = await self.access(name)
        variables = self._instance.link.session.workspace.environ
        key = None if access is None else access.api_key
        key = key or next((variables[one] for one in env if variables.get(one)), None)
        remember_used(key)
        return key

    async def access(self, name: str, *, min_expiry: float = 0) -> Access | None:
        """The key or token, headers and base URL for requests to ``name``.

        A login is renewed if it is not valid for ``min_expiry`` seconds. ``None`` if there are no
        credentials; raises ``AuthenticationFailed`` if there are credentials that do not work.
        """
        access = await self._sources.find(name)
        if access is None:
            access = await self._stored_access(name, min_expiry)
        if access is not None:
            remember_secrets(access)
        return access

    async def refresh(self, name: str) -> Access | None:
        """New credentials after a server refused the current ones, as with status 401.

        The source of the refused credentials is notified and called again; a stored login is
        renewed.
        """
        if await self._sources.rejected_by_server(name):
            return await self.access(name)
        return await self.access(name, min_expiry=math.inf)

    async def list(self) -> Sequence[StoredCredential]:
        """The stored credentials, without secrets."""
        stored = await self._instance.link.session.accounts.storage.list()
        return [_describe(name, credential) for name, credential in stored.items()]

    def source(self, name: str) -> str:
        """The origin of the credentials of ``name``, as their source describes it; else empty."""
        return self._sources.describe(name)

    # Storing --------------------------------------------------------------------------------------

    def secrets(self) -> tuple[str, ...]:
        """All keys and tokens in pi's files and variables, for redaction."""
        return self._instance.link.session.accounts.secrets()

    async def set(self, name: str, key: str) -> None:
        """Store an API key."""
        await self.put(name, ApiKeyCredential(key=key))

    async def put(self, name: str, credential: Credential | Tokens) -> None:
        """Store a credential in place of the current one, e.g. tokens of a login."""
        if not isinstance(credential, ApiKeyCredential):
            credential = credential_from(credential)
        await self._instance.link.session.accounts.storage.set(name, credential)

    async def remove(self, name: str) -> bool:
        """Remove the stored credential. Returns False if there was none."""
        return await self._instance.link.session.accounts.storage.remove(name)

    async def stored(self, name: str) -> Credential | None:
        """The stored credential with its secrets, e.g. to move it to another store."""
        return await self._instance.link.session.accounts.storage.get(name)

    def hide(self, *secrets: str) -> None:
        """Redact these values in logs and exports, as if they were keys of a provider."""
        for secret in secrets:
            remember_used(secret)

    # Credentials in other stores ------------------------------------------------------------------

    async def obtain(self, name: str, *, with_key: bool = False) -> Credential:
        """Let the user log in to a provider, or enter its key; return the credential, not stored.

        Uses dialogs; in print mode, plain prompts on standard error.
        """
        from pi.ai.auth.sign_in import sign_in_with_key

        row, ui = self._required_row(name), self._instance.context.ui
        if ui.has_ui:
            prompts: LoginUI = DialogLoginUI(ui)
        else:
            from pi.ai.auth.terminal_ui import TerminalUI

            prompts = TerminalUI()
        if with_key or row.login is None:
            temporary = AuthStorage()
            await sign_in_with_key(row, prompts, storage=temporary)
            credential = await temporary.get(name)
            assert credential is not None
        else:
            from pi.ai.auth.login import load_login

            session = self._instance.link.session
            login, settings = load_login(row), self._login_settings(row)
            clock = self._instance.scope.clock
            credential = await login.login(prompts, session.http(), clock, settings)
        _remember(credential)
        return credential

    async def refreshed(self, name: str, credential: OAuthCredential) -> OAuthCredential:
        """Renew a login that the extension stores itself; nothing is stored here.

        Raises ``AuthenticationFailed`` only if the user has to log in again, and another
        ``ProviderError`` for temporary failures. The old refresh token may be invalid afterwards:
        store the result first.
        """
        from pi.ai.auth.login import load_login

        row = self._required_row(name)
        login, settings = load_login(row), self._login_settings(row)
        http = self._instance.link.session.http()
        new = await login.refresh(credential, http, self._instance.scope.clock, settings)
        _remember(new)
        return new

    async def access_of(self, name: str, credential: Credential) -> Access | None:
        """Key, headers and base URL for requests to ``name`` with a given credential.

        A key is used as it is: neither variables nor commands in it are expanded. A login is not
        renewed.
        """
        from pi.ai.auth.login_settings import with_host_overrides
        from pi.ai.auth.resolve import resolve

        session, row, memory = self._instance.link.session, self._row(name), AuthStorage()
        if isinstance(credential, OAuthCredential):
            credential = replace(credential, expires=NEVER)
        elif credential.key:
            credential = replace(credential, key=escape(credential.key))
        if row is None:
            key = credential.access if isinstance(credential, OAuthCredential) else credential.key
            return Access(api_key=key, kind="api_key") if key else None
        await memory.set(name, credential)
        resolved = await resolve(
            row,
            storage=memory,
            environ=session.workspace.environ,
            http=session.http(),
            clock=self._instance.scope.clock,
            clients=with_host_overrides(
                session.workspace.settings.values.oauth_clients, session.workspace.environ
            ),
            cwd=session.workspace.cwd,
        )
        return None if resolved is None else resolved.access

    # Logging in -----------------------------------------------------------------------------------

    async def login(self, name: str) -> None:
        """Let the user log in to a provider or a service, or enter its key, and store the result.

        Raises ``LoginCancelled`` if the user cancels, and ``ExtensionError`` without a user.
        """
        ui = self._instance.context.ui
        if not ui.has_ui:
            raise ExtensionError(
                f"Cannot log in to {name}: no user can answer.",
                hint=f"Run pi in a terminal and type /login {name}.",
            )
        row, accounts = self._required_row(name), self._instance.link.session.accounts
        work = accounts.store_key if row.login is None else accounts.log_in
        await work(name, DialogLoginUI(ui))

    async def browser_flow(
        self,
        callbacks: LoginCallbacks,
        client: OAuthClient,
        *,
        register: RegisterClient | None = None,
    ) -> OAuthCredential:
        """Log in on a web page with PKCE and a callback on this machine; for ``OAuthConfig.login``.

        The user may also paste the final address of the browser. ``register`` is called with the
        redirect URI before the page is opened, for servers that register clients.
        """
        # Deferred import: loads hashing, sockets and HTTP.
        from pi.ai.auth.oauth.browser import browser_login
        from pi.ai.auth.oauth.tokens import credential_of

        used_client = client

        async def registered(redirect_uri: str) -> LoginSettings:
            nonlocal used_client
            if register is not None:
                used_client = await register(redirect_uri)
            return used_client.settings()

        clock = callbacks.clock
        tokens = await browser_login(
            callbacks.ui,
            self._instance.link.session.http(),
            clock,
            client.settings(),
            register=registered,
        )
        credential = credential_of(tokens, clock, used_client.settings())
        return replace(credential, extra={"clientId": used_client.client_id})

    async def renew(self, credential: OAuthCredential, client: OAuthClient) -> OAuthCredential:
        """Exchange the refresh token for new tokens; for ``OAuthConfig.refresh_token``."""
        from pi.ai.auth.oauth.tokens import refresh_tokens

        clock = self._instance.scope.clock
        settings = client.settings()
        return await refresh_tokens(credential, self._instance.link.session.http(), clock, settings)

    # Contributing ---------------------------------------------------------------------------------

    def add_source(
        self,
        find: FindKey,
        *,
        names: Collection[str] | None = None,
        rejected: Rejected | None = None,
        describe: Describe | None = None,
        at: At = "normal",
    ) -> Registration:
        """Call ``find(name)`` for credentials before the store is read; the first result wins.

        ``find`` returns a key or an ``Access``. ``names`` are the providers that it has credentials
        for: their models can be selected without calling it. If it raises ``AuthUnavailable``, no
        other source is used. ``rejected(name, access)`` is called if a server refuses the
        credentials; if it returns True, ``find`` is called again and the request is repeated once.
        ``describe(name)`` returns in a few words the origin of the credentials and what is left of
        a plan, for ``/login`` and ``/usage``; it must not block.
        """
        provider_names = None if names is None else frozenset(names)
        source = AuthSource(find=find, names=provider_names, rejected=rejected, describe=describe)
        return self._instance.add_row(self._instance.state.registries.auth_sources, source, at)

    def add_login(
        self, name: str, *, label: str = "", oauth: OAuthConfig | Mapping[str, Any] | None = None
    ) -> Registration:
        """Let ``/login name`` store an API key or, with ``oauth``, sign in to a service."""
        flow = None if oauth is None else oauth_from(oauth, name)
        service = Service(name, label or (flow.name if flow else name), flow)
        return self._instance.keep(
            self._instance.state.providers.add(service, self._instance.owner)
        )

    # Internals ------------------------------------------------------------------------------------

    def _row(self, name: str) -> Provider | None:
        provider = self._instance.link.session.models.registry.models.get_provider(name)
        return None if provider is None else provider.row

    def _required_row(self, name: str) -> Provider:
        row = self._row(name)
        if row is None:
            raise ExtensionError(
                f'There is no login for "{name}".', hint="Add one with pi.auth.add_login."
            )
        return row

    def _login_settings(self, row: Provider) -> LoginSettings:
        from pi.ai.auth.login_settings import login_settings, with_host_overrides

        workspace = self._instance.link.session.workspace
        clients = workspace.settings.values.oauth_clients
        return login_settings(row, with_host_overrides(clients, workspace.environ))

    async def _stored_access(self, name: str, min_expiry: float) -> Access | None:
        session, row = self._instance.link.session, self._row(name)
        stored = await session.accounts.storage.get(name)
        if isinstance(stored, OAuthCredential) and row is not None and row.login is not None:
            await self._renew(row, stored, min_expiry)
        if row is not None:
            access = await session.models.registry.models.access(name)
            if access is not None:
                return access
        match stored:
            case ApiKeyCredential(key=str(text)) if text:
                key = await expand(
                    text, environ=session.workspace.environ, cwd=session.workspace.cwd
                )
                return None if key is None else Access(api_key=key, kind="api_key")
            case OAuthCredential(access=token, expires=expires):  # without a login to renew it
                seconds_left = (expires - self._instance.scope.clock.now_ms()) / 1000
                return Access(api_key=token, kind="oauth") if seconds_left > min_expiry else None
            case _:
                return None

    async def _renew(self, row: Provider, stored: OAuthCredential, min_expiry: float) -> None:
        from pi.ai.auth.login import load_login
        from pi.ai.auth.refresh import refresh_if_expiring

        session = self._instance.link.session
        await refresh_if_expiring(
            row,
            stored,
            login=load_login(row),
            settings=self._login_settings(row),
            storage=session.accounts.storage,
            http=session.http(),
            clock=self._instance.scope.clock,
            min_expiry=min_expiry,
        )


def _remember(credential: Credential) -> None:
    """Redact the secrets of a credential in logs and exports."""
    match credential:
        case OAuthCredential(access=access, refresh=refresh):
            remember_used(access)
            remember_used(refresh)
        case ApiKeyCredential(key=key):
            remember_used(key)


def _describe(name: str, credential: Credential) -> StoredCredential:
    if isinstance(credential, OAuthCredential):
        return StoredCredential(name=name, kind="oauth", expires=credential.expires)
    return StoredCredential(name=name, kind="api_key")


class DialogLoginUI:
    """Implements ``pi.ai.auth.login.LoginUI`` with the dialogs of ``ctx.ui``."""

    def __init__(self, ui: ExtensionUI) -> None:
        self._ui = ui
        self._page = ""
        """The page that the user is asked to open, shown with the prompt for its code."""

    async def ask(self, prompt: LoginPrompt) -> str:
        """Ask the user. Raises ``LoginCancelled`` if they close the dialog."""
        from pi.ai.auth.errors import LoginCancelled

        title = prompt.message
        if prompt.kind == "manual_code" and self._page:
            title = f"{self._page}\n{title}"
        if prompt.kind == "select":
            ids = {choice.label: choice.id for choice in prompt.choices}
            label = await self._ui.select(title, list(ids))
            answer = None if label is None else ids.get(label)
        else:
            secret = prompt.kind == "secret"
            answer = await self._ui.input(title, prompt.placeholder, secret=secret)
        if answer is None:
            raise LoginCancelled("The login was cancelled.")
        return answer

    def notify(self, notice: Notice) -> None:
        """Show a notice, and open the page of a login."""
        from pi.ai.auth.login import AuthUrl, DeviceCode

        match notice:
            case AuthUrl(url=url, instructions=instructions):
                self._page = f"{instructions}\n{url}"
                self._ui.open_url(url)
            case DeviceCode(user_code=code, url=url):
                self._ui.notify(f"Open {url} and type the code {code}.")
            case _:
                self._ui.notify(notice.message)
