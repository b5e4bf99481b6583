"""The configuration of a broker's client: address, token, cache and account pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pi.base.server_guard import read_token
from pi.extension import PiError, Record, field

DEFAULT_TTL_MS = 3_600_000

Pools = Mapping[str, Sequence[str]]
"""Ids or labels of the accounts that this machine may use, by provider."""


class BrokerConfig(Record):
    """The address of a broker, and how this machine uses it."""

    url: str
    token: str
    ttl_ms: int = DEFAULT_TTL_MS
    """Maximum age of a stored snapshot; with 0, none is stored."""
    cache: Path = Path()
    pools: Pools = field(default_factory=dict)


URL = "PI_AUTH_BROKER_URL"
TOKEN = "PI_AUTH_BROKER_TOKEN"
SNAPSHOT_TTL_MS = "PI_AUTH_BROKER_SNAPSHOT_TTL_MS"
SNAPSHOT_CACHE = "PI_AUTH_BROKER_SNAPSHOT_CACHE"
ACCOUNT_POOL_FILE = "PI_AUTH_BROKER_ACCOUNT_POOL_FILE"


def variable(environ: Mapping[str, str], name: str) -> str:
    """Return a variable, or the one with the older prefix ``OMP_``; empty if neither is set."""
    return environ.get(name) or environ.get(f"OMP_{name.removeprefix('PI_')}") or ""


def broker_config(
    environ: Mapping[str, str], setting: Callable[[str], Any], folder: Path
) -> BrokerConfig | None:
    """Return the configured broker; ``None`` without one.

    Raises ``PiError`` for an invalid URL, and for a URL without a token: a local credential in its
    place might bill another account.
    """
    url = (variable(environ, URL) or str(setting("auth.broker.url") or "")).rstrip("/")
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PiError(
            f"The URL of the auth broker is invalid: {url}.", hint="Use https://host:8765."
        )
    token = variable(environ, TOKEN) or _indirect(setting("auth.broker.token"), environ)
    token = token or read_token(folder / "token") or ""
    if not token:
        raise PiError(
            f"The auth broker {url} needs a token, and there is none.",
            hint="Set PI_AUTH_BROKER_TOKEN to what pi auth-broker token prints on its machine.",
        )
    pools: Pools = {}
    if pool_file := variable(environ, ACCOUNT_POOL_FILE):
        path = Path(pool_file).expanduser()
        try:
            pools = read_pools(path.read_bytes(), str(path))
        except OSError as error:
            raise PiError(f"Cannot read the account pools in {path}: {error.strerror}.") from error
    cache = variable(environ, SNAPSHOT_CACHE)
    return BrokerConfig(
        url=url,
        token=token,
        ttl_ms=_ttl(variable(environ, SNAPSHOT_TTL_MS)),
        cache=Path(cache).expanduser() if cache else folder / "snapshot.enc",
        pools=pools,
    )


def read_pools(data: bytes, source: str) -> Pools:
    """Return the pools of a file: ``{"anthropic": ["work", "spare"]}``."""
    try:
        return msgspec.json.decode(data, type=dict[str, list[str]])
    except msgspec.MsgspecError as error:
        raise PiError(
            f"The account pools in {source} cannot be read: {error}.",
            hint='Write {"provider": ["account", …]}.',
        ) from error


def _indirect(value: Any, environ: Mapping[str, str]) -> str:
    """Return the text of a setting; for ``$NAME``, the value of that variable."""
    text = value if isinstance(value, str) else ""
    return environ.get(text[1:], "") if text.startswith("$") else text


def _ttl(text: str) -> int:
    if not text:
        return DEFAULT_TTL_MS
    if not text.isdecimal():
        raise PiError(
            f"PI_AUTH_BROKER_SNAPSHOT_TTL_MS is not a number of milliseconds: {text}.",
            hint="Use 3600000 for an hour, or 0 to store nothing.",
        )
    return int(text)
