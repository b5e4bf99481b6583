"""Records that broker and clients exchange, and records that the broker stores. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal

from pi.ai.auth.credentials import ApiKeyCredential
from pi.extension import Json, OAuthCredential, PiError, Record, field

PORT = 8765
MAX_WAIT = 30.0
"""Seconds that a request for a newer snapshot may wait."""
EARLY_MS = 300_000
"""A login is renewed this long before its expiry."""
CHECK_SECONDS = 60.0
"""How often the broker looks for logins to renew."""

_PRIVATE_FIELDS = re.compile(r"(?i)refresh|secret|id_?token|password")
"""Extra fields of a login that stay with the broker."""


class BrokerUnavailable(PiError):
    """The broker cannot be reached, or has no answer now."""


class BrokerRefused(PiError):
    """The broker refuses the token of this client. A cached answer must not be used instead."""


class Limit(Record):
    """A limit of a plan, as a provider reported it."""

    name: str
    used_percent: float
    resets_at: float | None = None
    """Seconds since 1970."""


class AccountBlock(Record):
    """An account that is not to be used for a while, e.g. after a rate limit."""

    until: int
    """Milliseconds since 1970."""
    reason: str = ""


class StoredAccount(Record):
    """One credential of the store, with its secrets."""

    id: str
    provider: str
    label: str
    credential: Json
    """In the form of an entry of ``auth.json``."""
    version: int = 1
    """Raised with every new token."""
    disabled: str = ""
    """Why the account is no longer used; empty if it is used."""
    blocks: tuple[AccountBlock, ...] = ()

    @property
    def is_login(self) -> bool:
        """Whether the credential is an OAuth login, which has to be renewed."""
        return self.credential.get("type") == "oauth"

    @property
    def expires(self) -> int:
        """Milliseconds since 1970; 0 if unknown."""
        return int(self.credential.get("expires") or 0)


class StoredAccounts(Record):
    """The content of the store."""

    generation: int = 0
    """Raised with every change."""
    accounts: tuple[StoredAccount, ...] = ()

    def account(self, id: str) -> StoredAccount | None:
        """Return the account with an id."""
        return next((account for account in self.accounts if account.id == id), None)


class SharedAccount(Record):
    """An account as clients see it: never with a refresh token."""

    id: str
    provider: str
    label: str
    type: Literal["api_key", "oauth"]
    access: str
    """The access token or the key; empty if the account is disabled."""
    version: int
    expires: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    disabled: str = ""
    blocked_until: int = 0

    def credential(self) -> ApiKeyCredential | OAuthCredential:
        """Return the credential for requests."""
        if self.type == "api_key":
            return ApiKeyCredential(key=self.access, env=self.env)
        return OAuthCredential(
            access=self.access, refresh="", expires=self.expires or 0, extra=self.extra
        )


class BrokerSnapshot(Record):
    """All accounts at one time."""

    generation: int
    generated_at: int
    """Milliseconds since 1970, by the clock of the broker."""
    accounts: tuple[SharedAccount, ...] = ()

    def account(self, id: str) -> SharedAccount | None:
        """Return the account with an id."""
        return next((account for account in self.accounts if account.id == id), None)

    def providers(self) -> frozenset[str]:
        """Return the providers with an account that is not disabled."""
        return frozenset(account.provider for account in self.accounts if not account.disabled)


class AccountUsage(Record):
    """The usage of an account, as its clients last reported it."""

    id: str
    limits: tuple[Limit, ...] = ()
    seen_at: int = 0
    requests: int = 0

    @property
    def used_percent(self) -> float:
        """The highest percentage of all limits; 0 without limits."""
        return max((limit.used_percent for limit in self.limits), default=0.0)


def shared(account: StoredAccount) -> SharedAccount:
    """Return an account without the fields that clients must not see."""
    entry = account.credential
    until = max((block.until for block in account.blocks), default=0)
    is_login = account.is_login
    fields = ("type", "access", "refresh", "expires", "key", "env")
    extra: dict[str, Any] = {
        name: value
        for name, value in entry.items()
        if name not in fields and not _PRIVATE_FIELDS.search(name)
    }
    secret = entry.get("access") if is_login else entry.get("key")
    return SharedAccount(
        id=account.id,
        provider=account.provider,
        label=account.label,
        type="oauth" if is_login else "api_key",
        access="" if account.disabled else str(secret or ""),
        version=account.version,
        expires=account.expires if is_login else None,
        env=dict(entry.get("env") or {}),
        extra=extra,
        disabled=account.disabled,
        blocked_until=until,
    )


def snapshot_of(stored: StoredAccounts, now_ms: int) -> BrokerSnapshot:
    """Return the snapshot for clients."""
    return BrokerSnapshot(
        generation=stored.generation,
        generated_at=now_ms,
        accounts=tuple(shared(account) for account in stored.accounts),
    )


def label_of(entry: Json) -> str:
    """Return the account name in a credential; ``default`` if it has none."""
    for name in ("email", "account", "login", "accountId", "account_id"):
        if isinstance(entry.get(name), str) and entry[name]:
            return str(entry[name])
    return "default"


def check_entry(entry: Json) -> None:
    """Raise ``ValueError`` unless it is a credential that another machine can use."""
    match entry:
        case {"type": "oauth", "access": str(), "refresh": str(), "expires": int() | float()}:
            return
        case {"type": "api_key", "key": str(key)} if key:
            if key.startswith("!") or "$" in key:
                raise ValueError(
                    "a key that names a variable or a command has a meaning on one machine only"
                )
        case _:
            raise ValueError("the credential is neither a key nor a login")
