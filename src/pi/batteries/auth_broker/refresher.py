"""Renews logins: each refresh token is used once, however many clients ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from pi.batteries.auth_broker.protocol import EARLY_MS, BrokerUnavailable, StoredAccount
from pi.batteries.auth_broker.store import BrokerStore
from pi.extension import (
    AuthenticationFailed,
    Clock,
    Json,
    OAuthCredential,
    PiError,
    ProviderError,
    replace,
)

Renew: TypeAlias = Callable[[str, OAuthCredential], Awaitable[OAuthCredential]]
"""Uses the refresh token of a provider's login; raises ``ProviderError``."""

PAUSE = 5.0
"""Seconds before another attempt after a fault of the network."""
LIMIT = 30.0
"""Seconds that an authorization server may take."""


class AccountGone(PiError):
    """There is no such account, or it is disabled."""


class Refresher:
    """One flight per account. A client that goes away does not end the flight it waits for."""

    def __init__(
        self, store: BrokerStore, renew: Renew, clock: Clock, report: Callable[[str], None]
    ) -> None:
        self._store = store
        self._renew = renew
        self._clock = clock
        self._report = report
        self._flights: dict[str, asyncio.Task[StoredAccount]] = {}
        self._closing = False
        self._failed: dict[str, tuple[float, str]] = {}
        """When an account could last not be renewed, and why."""

    async def refresh(self, id: str, seen: int | None = None) -> StoredAccount:
        """Returns the account, renewed if it is due or if version ``seen`` was refused.

        A client that names an older version gets the current one: the token that it wants replaced
        is replaced already, and another refresh would only use up a rotating grant.
        """
        account = self._usable(id)
        if not self._needs_renewal(account, seen):
            return account
        flight = self._flights.get(id)
        if flight is None:
            if self._closing:  # its result could not be stored any more
                raise self._not_now(account, "the broker is ending")
            self._check_pause(account)
            flight = asyncio.create_task(self._fly(id, seen), name=f"refresh {id}")
            self._flights[id] = flight
            flight.add_done_callback(lambda done: self._landed(id, done))
        return await asyncio.shield(flight)

    async def refresh_due(self) -> None:
        """Renew every login that expires soon; failures are reported and tried again later."""
        due = [a.id for a in self._store.read().accounts if self._is_due(a)]
        for id in due:
            try:
                await self.refresh(id)
            except PiError as error:
                self._report(error.message)

    async def settle(self) -> None:
        """Start no more flights and wait for those in the air.

        A grant that was used must be stored before the program ends.
        """
        self._closing = True
        if self._flights:
            await asyncio.wait(list(self._flights.values()))

    def _landed(self, id: str, flight: asyncio.Task[StoredAccount]) -> None:
        self._flights.pop(id, None)
        if not flight.cancelled():
            flight.exception()  # every client may have gone: it is reported by the flight itself

    async def _fly(self, id: str, seen: int | None) -> StoredAccount:
        account = self._usable(id)
        if not self._needs_renewal(account, seen):
            return account
        old = account.credential
        try:
            async with asyncio.timeout(LIMIT):
                new = await self._renew(account.provider, _credential(old))
        except AuthenticationFailed as refused:
            await self._disable(account, refused.message)
            raise AccountGone(
                f"The login {account.label} to {account.provider} was refused and is disabled:"
                f" {refused.message}",
                hint=f"Run pi auth-broker login {account.provider} again.",
            ) from refused
        except (ProviderError, TimeoutError) as error:
            why = str(error) or f"no answer within {LIMIT:g} seconds"
            self._failed[id] = (self._clock.monotonic(), why)
            raise self._not_now(account, why) from error
        self._failed.pop(id, None)
        entry = _entry(old, new)

        def commit(current: StoredAccount) -> StoredAccount:
            if current.version != account.version:  # replaced by a login meanwhile
                return current
            return replace(current, credential=entry, version=current.version + 1, disabled="")

        stored = await self._store.change_account(id, commit)
        if stored is None:
            raise AccountGone(f"The account {id} was removed.")
        return stored

    async def _disable(self, account: StoredAccount, why: str) -> None:
        def disable(current: StoredAccount) -> StoredAccount:
            return replace(current, disabled=why) if current.version == account.version else current

        await self._store.change_account(account.id, disable)
        self._report(f"Disabled the login {account.label} to {account.provider}: {why}")

    def _usable(self, id: str) -> StoredAccount:
        account = self._store.read().account(id)
        if account is None:
            raise AccountGone(f"There is no account {id}.")
        if account.disabled:
            raise AccountGone(
                f"The login {account.label} to {account.provider} is disabled: {account.disabled}",
                hint=f"Run pi auth-broker login {account.provider} again.",
            )
        return account

    def _needs_renewal(self, account: StoredAccount, seen: int | None) -> bool:
        if not account.is_login:
            return False
        return self._is_due(account) or (seen is not None and seen >= account.version)

    def _is_due(self, account: StoredAccount) -> bool:
        if not account.is_login or account.disabled or not account.credential.get("refresh"):
            return False
        return account.expires - self._clock.now_ms() < EARLY_MS

    def _check_pause(self, account: StoredAccount) -> None:
        at, why = self._failed.get(account.id, (None, ""))
        if at is not None and self._clock.monotonic() - at < PAUSE:
            raise self._not_now(account, why)

    def _not_now(self, account: StoredAccount, why: str) -> BrokerUnavailable:
        return BrokerUnavailable(
            f"The login {account.label} to {account.provider} could not be renewed now: {why}"
        )


def _credential(entry: Json) -> OAuthCredential:
    known = ("access", "refresh", "expires")
    extra = {name: value for name, value in entry.items() if name not in (*known, "type")}
    return msgspec.convert({**{n: entry.get(n) for n in known}, "extra": extra}, OAuthCredential)


def _entry(old: Json, new: OAuthCredential) -> Json:
    """Returns the new entry; what the server did not repeat is kept."""
    return {
        **old,
        **new.extra,
        "type": "oauth",
        "access": new.access,
        "refresh": new.refresh or old.get("refresh", ""),
        "expires": new.expires,
    }
