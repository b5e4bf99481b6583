"""Token refresh under a lock: once, for all tasks and processes.

Check, take the lock, check again, send the request, compare, store. Nothing is ever deleted or
printed: failures are raised.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import Login
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.storage import AuthStorage, LockedStore
from pi.ai.errors import AuthenticationFailed, ProviderError, ProviderUnavailable, RateLimited
from pi.ai.provider import Provider
from pi.base.clock import Clock
from pi.base.locks import FileLocked
from pi.base.records import Record

if TYPE_CHECKING:  # listing models must not load the HTTP client
    from pi.ai.http.client import HttpClient

EARLY = 300.0
"""Seconds before its expiry at which a login is renewed."""
REFRESH_SECONDS = 30.0
"""Timeout of the server; then the lock is released, so that other processes can try."""


async def refresh_if_expiring(
    provider: Provider,
    credential: OAuthCredential,
    *,
    login: Login,
    settings: LoginSettings,
    storage: AuthStorage,
    http: HttpClient,
    clock: Clock,
    min_expiry: float = 0.0,
    limit: float = REFRESH_SECONDS,
) -> OAuthCredential:
    """Return ``credential``, renewed if less than 300 or ``min_expiry`` seconds remain.

    Raises ``AuthenticationFailed`` if the user has to log in again, and another ``ProviderError``
    if the server is unavailable and the credential has expired.
    """
    if _seconds_left(credential, clock) >= max(EARLY, min_expiry):
        return credential
    renewal = _Renewal(
        provider=provider,
        seen=credential,
        login=login,
        settings=settings,
        http=http,
        clock=clock,
        min_seconds_left=max(EARLY, min_expiry),
    )
    try:
        return await storage.refreshes.run(provider.id, partial(renewal.run, storage, limit))
    except AuthenticationFailed as refused:
        raise AuthenticationFailed(
            f"The login to {provider.name} could not be renewed: {refused.message}",
            hint=f"Log in again with /login {provider.id}. The stored login was not changed, and"
            " no other key was used in its place.",
            status=refused.status,
            code=refused.code,
        ) from refused
    except (ProviderError, FileLocked) as error:
        if _seconds_left(credential, clock) > min_expiry:
            return credential  # there are minutes left for another attempt
        raise _not_now(provider, error) from error


class _Renewal(Record):
    """One attempt, made by the first task that needs it."""

    provider: Provider
    seen: OAuthCredential
    login: Login
    settings: LoginSettings
    http: HttpClient
    clock: Clock
    min_seconds_left: float

    async def run(self, storage: AuthStorage, limit: float) -> OAuthCredential:
        """Return the credential that is in the store afterwards."""
        async with storage.lock() as locked:
            current = self._stored(locked)
            if not self._is_due(current):
                return current
            new = await self._ask(current, limit)
            with suppress(FileLocked):
                return await self._commit(locked, current, new)
        # The lock was lost meanwhile, e.g. because the machine slept: take it again.
        async with storage.lock() as locked:
            return await self._commit(locked, current, new)

    def _stored(self, locked: LockedStore) -> OAuthCredential:
        current = locked.get(self.provider.id)
        if not isinstance(current, OAuthCredential):
            raise AuthenticationFailed("it is no longer stored.")
        return current

    def _is_due(self, current: OAuthCredential) -> bool:
        """Whether it still has to be renewed: another process may have done so."""
        seconds_left = _seconds_left(current, self.clock)
        return seconds_left <= 0 or (current == self.seen and seconds_left < self.min_seconds_left)

    async def _ask(self, current: OAuthCredential, limit: float) -> OAuthCredential:
        try:
            async with asyncio.timeout(limit):
                return await self.login.refresh(current, self.http, self.clock, self.settings)
        except TimeoutError as error:
            message = f"The server did not answer within {limit:g} seconds."
            raise ProviderUnavailable(message) from error

    async def _commit(
        self, locked: LockedStore, old: OAuthCredential, new: OAuthCredential
    ) -> OAuthCredential:
        """Store ``new`` in place of ``old``, but not over any other change."""
        current = self._stored(locked)
        if current != old:
            return current
        await locked.put(self.provider.id, new)
        return new


def _seconds_left(credential: OAuthCredential, clock: Clock) -> float:
    """Return the seconds until its expiry."""
    return (credential.expires - clock.now_ms()) / 1000


def _not_now(provider: Provider, error: ProviderError | FileLocked) -> ProviderUnavailable:
    message = f"The login to {provider.name} could not be renewed now: {error.message}"
    hint = f"Try again; if it goes on, log in again with /login {provider.id}."
    if isinstance(error, FileLocked):
        return ProviderUnavailable(message, hint=error.hint)
    wait = error.retry_after if isinstance(error, RateLimited) else None
    return ProviderUnavailable(
        message, hint=hint, status=error.status, code=error.code, retry_after=wait
    )
