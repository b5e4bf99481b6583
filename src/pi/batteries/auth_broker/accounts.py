"""Which account of a provider a session uses: pools, blocks and balancing. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from pi.batteries.auth_broker.protocol import AccountUsage, SharedAccount
from pi.extension import PiError

MIN_LEFT_MS = 30_000
"""A token that expires sooner is not used for a request."""

Pools = Mapping[str, Sequence[str]]
"""Ids or labels of the accounts that this machine may use, by provider."""


def read_pools(data: bytes, where: str) -> Pools:
    """Returns the pools of a file: ``{"anthropic": ["work", "spare"]}``."""
    try:
        return msgspec.json.decode(data, type=dict[str, list[str]])
    except msgspec.MsgspecError as error:
        raise PiError(
            f"The account pools in {where} cannot be read: {error}.",
            hint='Write {"provider": ["account", …]}.',
        ) from error


def in_pool(account: SharedAccount, pools: Pools) -> bool:
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
    """Returns the account for the next request of a session; ``None`` if none can be used.

    A session keeps its account while that works, because prompt caches belong to an account.
    Otherwise the account with the most left; among equals, sessions are spread evenly.
    """
    ready = [each for each in accounts if not each.disabled and each.blocked_until <= now_ms]
    for account in ready:
        if account.id == current:
            return account

    def rank(account: SharedAccount) -> tuple[int, bytes]:
        used = usage[account.id].used_percent if account.id in usage else 0.0
        spread = hashlib.sha256(f"{session}\0{account.id}".encode()).digest()
        return int(used // 10), spread

    return min(ready, key=rank, default=None)


def needs_renewal(account: SharedAccount, now_ms: int) -> bool:
    """Whether the broker has to be asked for a new token before a request."""
    return account.expires is not None and account.expires - now_ms < MIN_LEFT_MS
