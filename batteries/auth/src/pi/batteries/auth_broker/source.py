"""The broker as a source of credentials of a session."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from pi.ai.plan_limits import plan_limits
from pi.batteries.auth_broker.client import BrokerClient, SnapshotCache
from pi.batteries.auth_broker.configuration import BrokerConfig, Pools
from pi.batteries.auth_broker.protocol import (
    AccountUsage,
    BrokerRefused,
    BrokerSnapshot,
    BrokerUnavailable,
    Limit,
    SharedAccount,
)
from pi.coding.extension_host.contributions.credentials import AuthUnavailable
from pi.extension import (
    Access,
    ExtensionAPI,
    Model,
    ModelRequest,
    PiError,
    Registration,
    SendRequest,
    StreamEvent,
    replace,
)

REVALIDATE_SECONDS = 0.5
"""Time limit of a request for a newer snapshot, if one is known."""
RECHECK_SECONDS = 30.0
"""Age of the snapshot after which a request fetches it again."""
BLOCK_MS = 60_000
"""How long an account is blocked after a rate limit without a reset time."""
MIN_LEFT_MS = 30_000
"""A token that expires sooner is renewed before a request."""
MAX_ISSUED = 50
MAX_BLOCK_MS = 7 * 24 * 3_600_000


class BrokerSource:
    """Provides the access tokens of the broker, and reports limits in responses to the broker."""

    def __init__(self, pi: ExtensionAPI, config: BrokerConfig, client: BrokerClient) -> None:
        self._pi = pi
        self._config = config
        self._client = client
        self._clock = pi.scope.clock
        self._cache = SnapshotCache(config.cache, token=config.token, url=config.url)
        self._snapshot: BrokerSnapshot | None = None
        self._usage: Mapping[str, AccountUsage] = {}
        self._current: dict[str, str] = {}
        """The account that this session uses, by provider."""
        self._issued: dict[str | None, tuple[str, int]] = {}
        """Account and version by key or token, for those that requests have used."""
        self._checked = float("-inf")
        self._problem: PiError | None = None
        self._row: Registration | None = None
        self._registered: tuple[bool, frozenset[str]] = (False, frozenset())
        """Whether there was a snapshot, and the providers in it."""
        self._renewals: dict[str, asyncio.Task[SharedAccount | PiError]] = {}

    async def open(self) -> None:
        """Read the stored snapshot, request a newer one, and register the providers."""
        self._pi.auth.hide(self._config.token)
        self._snapshot = self._stored()
        await self._revalidate()
        self._register()
        self._pi.wrap_model(self._watch)

    @property
    def snapshot(self) -> BrokerSnapshot | None:
        """The latest snapshot; ``None`` if none is known."""
        return self._snapshot

    @property
    def problem(self) -> PiError | None:
        """Why the last request to the broker failed; ``None`` if it did not."""
        return self._problem

    # The source -----------------------------------------------------------------------------------

    async def find(self, name: str) -> Access | None:
        """The credentials of a provider; ``None`` if the broker has none for it.

        Raises ``AuthUnavailable`` if the broker or all accounts of the provider cannot be used.
        """
        if self._clock.monotonic() - self._checked > RECHECK_SECONDS:
            await self._revalidate()
            self._register()
        if self._snapshot is None and ":" in name:
            return None  # a service of an extension, such as an MCP server: not the broker's
        snapshot = self._require()
        accounts = [
            a for a in snapshot.accounts if a.provider == name and _in_pool(a, self._config.pools)
        ]
        if not accounts:
            if any(account.provider == name for account in snapshot.accounts):
                raise AuthUnavailable(
                    f"No account of {name} at the auth broker is in the pool of this machine.",
                    hint="See PI_AUTH_BROKER_ACCOUNT_POOL_FILE.",
                )
            return None
        account = choose(
            accounts,
            self._usage,
            now_ms=self._clock.now_ms(),
            current=self._current.get(name, ""),
            session=self._pi.context.session_manager.get_session_id(),
        )
        if account is None:
            raise AuthUnavailable(self._none_left(name, accounts))
        if _needs_renewal(account, self._clock.now_ms()):
            account = await self._renewed(account, None)
        self._current[name] = account.id
        access = await self._pi.auth.access_of(name, account.credential())
        if access is not None:
            self._issued.pop(access.api_key, None)
            self._issued[access.api_key] = (account.id, account.version)
            while len(self._issued) > MAX_ISSUED:
                del self._issued[next(iter(self._issued))]
        return access

    async def rejected(self, name: str, access: Access) -> bool:
        """Replace a token that a provider refused; False if there is no other token or account."""
        id, version = self._issued.get(access.api_key, ("", 0))
        account = self._account(id)
        if account is None:
            return False
        if account.version > version:
            # Another request has replaced the token: a refresh would use up a grant for nothing.
            return True
        try:
            new = await self._renewed(account, version)
        except AuthUnavailable:
            self._checked = float("-inf")  # fetch again: the account may be disabled now
            return len(self._others(account)) > 0
        return new.version != version

    def describe(self, name: str) -> str:
        """The broker, account and remaining limit of a provider; empty without an account."""
        account = self._account(self._current.get(name, ""))
        accounts = [a for a in self._accounts() if a.provider == name and not a.disabled]
        if account is None and not accounts:
            return ""
        chosen = account or accounts[0]
        others = f", one of {len(accounts)} accounts" if len(accounts) > 1 else ""
        usage = self._usage.get(chosen.id)
        remaining = (
            f", {max(100 - usage.used_percent, 0):.0f}% left" if usage and usage.limits else ""
        )
        return f"auth broker {self._client.url}: {chosen.label}{others}{remaining}"

    # Watching responses ---------------------------------------------------------------------------

    async def _watch(self, request: ModelRequest, send: SendRequest) -> AsyncIterator[StreamEvent]:
        """Report plan limits and rate limits of the account that a request uses."""
        before = request.options.on_response

        async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
            if before is not None:
                await before(status, headers, model)
            self._seen(status, headers, model.provider)

        options = replace(request.options, on_response=on_response)
        async for event in send(replace(request, options=options)):
            yield event

    def _seen(self, status: int, headers: Mapping[str, str], provider: str) -> None:
        account = self._account(self._current.get(provider, ""))
        if account is None:
            return
        now = self._clock.now_ms()
        limits = tuple(
            Limit(name=limit.name, used_percent=limit.used_percent, resets_at=limit.resets_at)
            for limit in plan_limits(headers, now=now / 1000)
        )
        usage = self._usage.get(account.id, AccountUsage(id=account.id))
        self._usage = {**self._usage, account.id: replace(usage, limits=limits or usage.limits)}
        if status == 429:
            until = min(_blocked_until(headers, limits, now), now + MAX_BLOCK_MS)
            blocked = replace(account, blocked_until=until)
            self._keep(blocked)
            self._pi.scope.spawn(self._report_block(account.id, until), name="block")
        self._pi.scope.spawn(self._report_use(account.id, limits), name="usage")

    async def _report_block(self, id: str, until: int) -> None:
        with suppress(BrokerUnavailable, BrokerRefused):
            await self._client.block(id, until, "rate limit")

    async def _report_use(self, id: str, limits: tuple[Limit, ...]) -> None:
        with suppress(BrokerUnavailable, BrokerRefused):
            await self._client.used(id, limits)

    # Snapshots ------------------------------------------------------------------------------------

    def _stored(self) -> BrokerSnapshot | None:
        if not self._config.ttl_ms:
            return None
        snapshot = self._cache.read()
        if snapshot is None or self._clock.now_ms() - snapshot.generated_at > self._config.ttl_ms:
            return None
        return snapshot

    async def _revalidate(self) -> None:
        """Request a newer snapshot; waits at most ``REVALIDATE_SECONDS`` if one is known."""
        limit = REVALIDATE_SECONDS if self._snapshot is not None else None
        try:
            async with asyncio.timeout(limit):
                await self._fetch()
        except TimeoutError:
            self._checked = self._clock.monotonic()
        except BrokerRefused as error:
            # The stored snapshot is not used either: access may have been revoked.
            self._snapshot, self._problem = None, error
            self._cache.clear()
        except BrokerUnavailable as error:
            self._problem = error
            if self._snapshot is not None and not self._is_fresh(self._snapshot):
                self._snapshot = None

    async def _fetch(self) -> None:
        previous = self._snapshot
        new = await self._client.snapshot(None if previous is None else previous.generation)
        now = self._clock.now_ms()
        self._snapshot = replace(previous, generated_at=now) if new is None and previous else new
        self._checked, self._problem = self._clock.monotonic(), None
        if self._config.ttl_ms and self._snapshot is not None:
            self._cache.write(self._snapshot)
        providers = [account.provider for account in self._accounts()]
        if len(providers) != len(set(providers)):  # usage matters: several accounts to choose from
            seen = {entry.id: entry for entry in await self._client.usage()}
            self._usage = {**self._usage, **seen}

    def _is_fresh(self, snapshot: BrokerSnapshot) -> bool:
        limit = self._config.ttl_ms or RECHECK_SECONDS * 1000
        return self._clock.now_ms() - snapshot.generated_at <= limit

    def _require(self) -> BrokerSnapshot:
        if self._snapshot is not None:
            return self._snapshot
        error = self._problem or BrokerUnavailable("The auth broker was not asked yet.")
        raise AuthUnavailable(error.message, hint=error.hint)

    def _register(self) -> None:
        """Register the source for its providers, so that their models can be selected."""
        names = frozenset() if self._snapshot is None else self._snapshot.providers()
        is_known = self._snapshot is not None
        if self._row is not None and (is_known, names) == self._registered:
            return
        if self._row is not None:
            self._row.remove()
        self._registered = (is_known, names)
        # Without a snapshot it is the source of every name: no local key may be used instead.
        self._row = self._pi.auth.add_source(
            self.find,
            names=None if self._snapshot is None else names,
            rejected=self.rejected,
            describe=self.describe,
            at="first",
        )

    # Accounts -------------------------------------------------------------------------------------

    def _accounts(self) -> tuple[SharedAccount, ...]:
        return () if self._snapshot is None else self._snapshot.accounts

    def _account(self, id: str) -> SharedAccount | None:
        return None if self._snapshot is None else self._snapshot.account(id)

    def _others(self, account: SharedAccount) -> list[SharedAccount]:
        now = self._clock.now_ms()
        return [
            candidate
            for candidate in self._accounts()
            if candidate.provider == account.provider
            and candidate.id != account.id
            and not candidate.disabled
            and candidate.blocked_until <= now
            and _in_pool(candidate, self._config.pools)
        ]

    def _keep(self, account: SharedAccount) -> None:
        if self._snapshot is not None:
            rows = tuple(account if a.id == account.id else a for a in self._snapshot.accounts)
            self._snapshot = replace(self._snapshot, accounts=rows)

    async def _renewed(self, account: SharedAccount, refused: int | None) -> SharedAccount:
        """The account with a newer token; concurrent requests share one call.

        Raises ``AuthUnavailable`` if the broker cannot renew it.
        """
        flight = self._renewals.get(account.id)
        if flight is None:
            flight = self._pi.scope.spawn(self._ask(account.id, refused), name="renew")
            self._renewals[account.id] = flight
            flight.add_done_callback(lambda _: self._renewals.pop(account.id, None))
        new = await asyncio.shield(flight)
        if isinstance(new, PiError):
            raise AuthUnavailable(new.message, hint=new.hint) from new
        self._keep(new)
        return new

    async def _ask(self, id: str, refused: int | None) -> SharedAccount | PiError:
        try:
            return await self._client.refresh(id, refused)
        except (BrokerUnavailable, BrokerRefused) as error:
            return error

    def _none_left(self, name: str, accounts: list[SharedAccount]) -> str:
        now = self._clock.now_ms()
        blocked = [a.blocked_until for a in accounts if not a.disabled and a.blocked_until > now]
        if blocked:
            minutes = max((min(blocked) - now) // 60_000, 1)
            return f"All accounts of {name} at the auth broker rest for {minutes} minutes."
        reasons = "; ".join(f"{a.label}: {a.disabled}" for a in accounts)
        return f"All accounts of {name} at the auth broker are disabled: {reasons}"


def _blocked_until(headers: Mapping[str, str], limits: tuple[Limit, ...], now: int) -> int:
    """When an account may be used again after a rate limit, in milliseconds since 1970."""
    lower = {name.lower(): value for name, value in headers.items()}
    with suppress(ValueError):
        return now + int(float(lower.get("retry-after", "")) * 1000)
    full = [limit.resets_at for limit in limits if limit.used_percent >= 100 and limit.resets_at]
    return int(max(full) * 1000) if full else now + BLOCK_MS


# Choice of the account, pure ----------------------------------------------------------------------


def _in_pool(account: SharedAccount, pools: Pools) -> bool:
    """Whether this machine may use an account; a provider without a pool has no limit."""
    pool = pools.get(account.provider)
    return pool is None or account.id in pool or account.label in pool


def choose(
    accounts: Sequence[SharedAccount],
    usage: Mapping[str, AccountUsage],
    *,
    now_ms: int,
    current: str = "",
    session: str = "",
) -> SharedAccount | None:
    """Return the account for the next request of a session; ``None`` if none can be used.

    A session keeps its account while it is usable, because prompt caches belong to an account.
    Otherwise the least used account is chosen; among equals, sessions are spread evenly.
    """
    ready = [
        account for account in accounts if not account.disabled and account.blocked_until <= now_ms
    ]
    for account in ready:
        if account.id == current:
            return account

    def rank(account: SharedAccount) -> tuple[int, bytes]:
        used = usage[account.id].used_percent if account.id in usage else 0.0
        spread = hashlib.sha256(f"{session}\0{account.id}".encode()).digest()
        return int(used // 10), spread

    return min(ready, key=rank, default=None)


def _needs_renewal(account: SharedAccount, now_ms: int) -> bool:
    """Whether the token has to be renewed before a request."""
    return account.expires is not None and account.expires - now_ms < MIN_LEFT_MS
