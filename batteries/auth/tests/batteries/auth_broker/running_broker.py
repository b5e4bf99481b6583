"""A broker on the loopback, and an issuer that rotates refresh tokens and punishes their reuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pi.batteries as batteries
from pi.base.server_guard import ServerGuard
from pi.batteries.auth_broker.refresher import Refresher
from pi.batteries.auth_broker.server import BrokerServer
from pi.batteries.auth_broker.store import BrokerStore
from pi.coding.extension_host.discovery.finding import Candidate, Factory
from pi.coding.extension_host.discovery.manifest import read_manifest
from pi.coding.resources.sources import SourceInfo
from pi.extension import AuthenticationFailed, Clock, Json, OAuthCredential
from pi.testing import FakeClock

TOKEN = "broker-token-0123456789abcdef"
HOUR = 3_600_000


@dataclass
class Issuer:
    """Each refresh token works once; a second use revokes all of them.

    With ``grace``, the token before the current one works for that many milliseconds more, as
    Auth0 (leeway), Okta and Amazon Cognito (grace period of up to 60 seconds) document it.
    """

    clock: Clock
    grace: int = 0
    rotated: dict[str, int] = field(default_factory=dict)
    """When the token before the current one was replaced."""
    holds_answer: bool = False
    """Whether the answer never arrives although the token is replaced."""
    valid: set[str] = field(default_factory=lambda: {"refresh-0"})
    refreshes: int = 0
    revoked: bool = False
    trouble: list[Exception] = field(default_factory=list)
    gate: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    lifetime: int = HOUR

    async def renew(self, provider: str, credential: OAuthCredential) -> OAuthCredential:
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble:
            raise self.trouble.pop(0)
        if self.clock.now_ms() - self.rotated.get(credential.refresh, -HOUR) < self.grace:
            self.valid.add(credential.refresh)
        if credential.refresh not in self.valid:
            self.revoked, self.valid = True, set()
            raise AuthenticationFailed("invalid_grant: the refresh token was used before")
        self.rotated = {credential.refresh: self.clock.now_ms()}
        self.refreshes += 1
        new = f"refresh-{self.refreshes}"
        self.valid = {new}
        self.granted.set()
        if self.holds_answer:
            await asyncio.Event().wait()
        return OAuthCredential(
            access=f"access-{self.refreshes}",
            refresh=new,
            expires=self.clock.now_ms() + self.lifetime,
        )


@dataclass
class Broker:
    """A running broker."""

    url: str
    store: BrokerStore
    refresher: Refresher
    issuer: Issuer
    clock: FakeClock
    reports: list[str]


def login(clock: Clock, *, left_ms: int = HOUR, number: int = 0, **extra: str) -> Json:
    """The entry of a login."""
    return {
        "type": "oauth",
        "access": f"access-{number}",
        "refresh": f"refresh-{number}",
        "expires": clock.now_ms() + left_ms,
        **extra,
    }


@asynccontextmanager
async def running_broker(
    folder: Path, clock: FakeClock | None = None, *, port: int = 0, issuer: Issuer | None = None
) -> AsyncIterator[Broker]:
    """Serve until the block is left."""
    clock = clock or FakeClock()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store, issuer, reports = BrokerStore(folder), issuer or Issuer(clock), list[str]()
    refresher = Refresher(store, issuer.renew, clock, reports.append)
    guard = ServerGuard(token=TOKEN, host="127.0.0.1")
    server = BrokerServer(store, refresher, guard, clock, reports.append)
    async with server.serving("127.0.0.1", port) as bound:
        yield Broker(f"http://127.0.0.1:{bound}", store, refresher, issuer, clock, reports)


def battery(package: str, load: Factory) -> Candidate:
    """A battery with its own manifest, so that its triggers load it, and another function."""
    folders = (Path(folder, package) for folder in batteries.__path__)
    manifest = read_manifest(next(folder for folder in folders if folder.is_dir()))
    source = SourceInfo(path=f"<inline:{package}>", source="inline", scope="temporary")
    return Candidate(
        name=manifest.name, rank="explicit", source=source, factory=load, manifest=manifest
    )
