"""Renews logins. Each refresh token is used once, however many clients request a renewal.

If the broker is killed while a provider renews a login, it is unknown whether the refresh token was
replaced. The next start sends the old one again: several providers accept it for some seconds more,
so that a lost answer can be repeated (Auth0 calls it leeway, Okta a grace period, Amazon Cognito a
retry grace period). A new login is needed only if the provider refuses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from pi.batteries.auth_broker.protocol import EARLY_MS, BrokerUnavailable, StoredAccount
from pi.batteries.auth_broker.store import BrokerStore, RefreshJournal
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
"""Seconds before another attempt after a failed one that may succeed later."""
LIMIT = 30.0
"""Time limit of an authorization server, in seconds."""
CLIENT_FAULTS = frozenset({"invalid_client", "incorrect_client_credentials", "unauthorized_client"})
"""OAuth errors about the client, not the login: a setting is wrong, the token is still valid."""


class AccountGone(PiError):
    """There is no such account, or it is disabled."""


class Refresher:
    """Renews logins, with one request in flight per account.

    A client that disconnects does not cancel the request ("flight") that it waits for.
    """

    def __init__(
        self, store: BrokerStore, renew: Renew, clock: Clock, report: Callable[[str], None]
    ) -> None:
        self._store = store
        self._journal = RefreshJournal(store.folder)
        self._renew = renew
        self._clock = clock
        self._report = report
        self._in_flight: dict[str, asyncio.Task[StoredAccount]] = {}
        self._closing = False
        self._failed: dict[str, tuple[float, str]] = {}
        """Time and reason of the last failed renewal, by account."""

    async def refresh(self, id: str, seen: int | None = None) -> StoredAccount:
        """Return the account, renewed if it is due or if version ``seen`` was refused.

        A client that names an older version gets the current one: its token is replaced already,
        and another refresh would only use up a rotating grant.
        """
        account = self._usable(id)
        if not self._needs_renewal(account, seen):
            return account
        flight = self._in_flight.get(id)
        if flight is None:
            if self._closing:  # the result could not be stored any more
                raise self._not_now(account, "the broker is ending")
            self._check_pause(account)
            flight = asyncio.create_task(self._run_refresh(id, seen), name=f"refresh {id}")
            self._in_flight[id] = flight
            flight.add_done_callback(lambda done: self._refresh_done(id, done))
        return await asyncio.shield(flight)

    async def refresh_due(self) -> None:
        """Renew every login that expires soon; failures are reported and tried again later."""
        accounts = self._store.read().accounts
        self._journal.keep_only({account.id for account in accounts})
        for id in [account.id for account in accounts if self._is_due(account)]:
            try:
                await self.refresh(id)
            except PiError as error:
                self._report(error.message)

    async def settle(self) -> None:
        """Start no more renewals, and wait for those in flight.

        A grant that was used must be stored before the program ends.
        """
        self._closing = True
        if self._in_flight:
            await asyncio.wait(list(self._in_flight.values()))

    def _refresh_done(self, id: str, flight: asyncio.Task[StoredAccount]) -> None:
        self._in_flight.pop(id, None)
        if not flight.cancelled():
            flight.exception()  # mark it as retrieved: all clients may have disconnected

    async def _run_refresh(self, id: str, seen: int | None) -> StoredAccount:
        account = self._usable(id)
        if not self._needs_renewal(account, seen):
            return account
        before = self._journal.find(account)
        if before is not None and before.answer is not None:  # received, but not stored
            return await self._commit(account, before.answer)
        self._journal.begin(account)
        try:
            entry = await self._sent(account)
        except AuthenticationFailed as refused:
            if refused.code in CLIENT_FAULTS:
                raise self._postponed(account, refused.message) from refused
            why = refused.message
            if before is not None:
                why = f"a refresh was interrupted, and its answer is lost: {why}"
            await self._disable(account, why)
            raise AccountGone(
                f"The login {account.label} to {account.provider} was refused and is disabled:"
                f" {why}",
                hint=_login_again(account),
            ) from refused
        except (ProviderError, TimeoutError) as error:
            why = str(error) or f"no answer within {LIMIT:g} seconds"
            raise self._postponed(account, why) from error
        self._failed.pop(id, None)
        return await self._commit(account, entry)

    async def _sent(self, account: StoredAccount) -> Json:
        """Send the refresh token; the answer is in the journal before anything else happens."""
        async with asyncio.timeout(LIMIT):
            new = await self._renew(account.provider, _credential(account.credential))
            entry = _entry(account.credential, new)
            try:
                self._journal.answered(account, entry)
            except OSError as error:
                self._report(f"Cannot write the journal of refreshes: {error.strerror}.")
            return entry

    async def _commit(self, account: StoredAccount, entry: Json) -> StoredAccount:
        def commit(current: StoredAccount) -> StoredAccount:
            if current.version != account.version:  # replaced by a login meanwhile
                return current
            return replace(current, credential=entry, version=current.version + 1, disabled="")

        stored = await self._store.change_account(account.id, commit)
        self._journal.end(account.id)
        if stored is None:
            raise AccountGone(f"The account {account.id} was removed.")
        return stored

    async def _disable(self, account: StoredAccount, why: str) -> None:
        def disable(current: StoredAccount) -> StoredAccount:
            return replace(current, disabled=why) if current.version == account.version else current

        await self._store.change_account(account.id, disable)
        self._journal.end(account.id)
        message = f"Disabled the login {account.label} to {account.provider}: {why}"
        self._report(f"{message.rstrip('.')}. {_login_again(account)}")

    def _usable(self, id: str) -> StoredAccount:
        account = self._store.read().account(id)
        if account is None:
            raise AccountGone(f"There is no account {id}.")
        if account.disabled:
            raise AccountGone(
                f"The login {account.label} to {account.provider} is disabled: {account.disabled}",
                hint=_login_again(account),
            )
        return account

    def _needs_renewal(self, account: StoredAccount, seen: int | None) -> bool:
        if not account.is_login:
            return False
        return self._is_due(account) or (seen is not None and seen >= account.version)

    def _is_due(self, account: StoredAccount) -> bool:
        if not account.is_login or account.disabled or not account.credential.get("refresh"):
            return False
        if self._journal.find(account) is not None:  # interrupted: the token may have been replaced
            return True
        return account.expires - self._clock.now_ms() < EARLY_MS

    def _check_pause(self, account: StoredAccount) -> None:
        failed_at, why = self._failed.get(account.id, (None, ""))
        if failed_at is not None and self._clock.monotonic() - failed_at < PAUSE:
            raise self._not_now(account, why)

    def _postponed(self, account: StoredAccount, why: str) -> BrokerUnavailable:
        self._failed[account.id] = (self._clock.monotonic(), why)
        return self._not_now(account, why)

    def _not_now(self, account: StoredAccount, why: str) -> BrokerUnavailable:
        return BrokerUnavailable(
            f"The login {account.label} to {account.provider} could not be renewed now: {why}"
        )


def _login_again(account: StoredAccount) -> str:
    return f"Run pi auth-broker login {account.provider} to log in again."


def _credential(entry: Json) -> OAuthCredential:
    fields = ("access", "refresh", "expires")
    extra = {name: value for name, value in entry.items() if name not in (*fields, "type")}
    return msgspec.convert({**{n: entry.get(n) for n in fields}, "extra": extra}, OAuthCredential)


def _entry(old: Json, new: OAuthCredential) -> Json:
    """Return the new entry; fields that the server did not repeat are kept."""
    return {
        **old,
        **new.extra,
        "type": "oauth",
        "access": new.access,
        "refresh": new.refresh or old.get("refresh", ""),
        "expires": new.expires,
    }
