"""The real broker, killed at random moments: before, during and after a provider's answer."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.ai.auth.authorization_server import (
    AuthorizationServer,
    Reply,
    Visit,
    authorization_server,
)
from tests.batteries.auth_broker.test_program import ended, served
from tests.cli.program import Program

REQUESTS = 1000
MOMENTS = ("asked", "granted", "answered")
KILLS = 3
"""How often the broker is killed at each of the moments, at least."""
CLIENTS = 50
GRACE_SECONDS = 30.0
"""That of Okta by default; Amazon Cognito has up to 60 seconds, Auth0 what is configured."""


@dataclass
class RotatingProvider:
    """Replaces the refresh token with each use, and kills the broker at the worst moments.

    The token before the current one is taken for ``grace`` seconds more. Any other use of an old
    token revokes the login: every token is refused until the next one.
    """

    server: AuthorizationServer
    chance: random.Random
    grace: float
    broker: subprocess.Popen[bytes] | None = None
    current: str = "refresh-0"
    previous: tuple[str, float] = ("", 0.0)
    is_revoked: bool = False
    refused: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    is_killing: bool = True

    def __post_init__(self) -> None:
        self.server.pages["/token"] = self.token

    async def token(self, visit: Visit) -> Reply:
        moment = self.chance.choice(["", *MOMENTS]) if self.is_killing else ""
        if moment == "asked":
            self.kill(moment)
            return Reply(503)
        given, now = visit.fields["refresh_token"], asyncio.get_running_loop().time()
        old, since = self.previous
        is_known = given == self.current or (given == old and now - since < self.grace)
        if self.is_revoked or not is_known:
            self.is_revoked = True
            self.refused += 1
            return Reply(400, {"error": "invalid_grant", "error_description": "used before"})
        reply = self.server.grant()
        assert isinstance(reply.body, dict)
        self.previous, self.current = (given, now), reply.body["refresh_token"]
        if moment == "granted":
            self.kill(moment)
        elif moment == "answered":  # while the broker reads and stores the answer
            delay = self.chance.uniform(0.0, 0.02)
            asyncio.get_running_loop().call_later(delay, self.kill, moment)
        return reply

    def log_in(self) -> dict[str, Any]:
        """The entry of a new login."""
        reply = self.server.grant()
        assert isinstance(reply.body, dict)
        self.current, self.previous, self.is_revoked = reply.body["refresh_token"], ("", 0.0), False
        return entry(reply.body["access_token"], self.current)

    def kill(self, moment: str) -> None:
        if self.is_killing and self.broker is not None and self.broker.poll() is None:
            os.kill(self.broker.pid, signal.SIGKILL)
            self.kills[moment] = self.kills.get(moment, 0) + 1


def entry(access: str, refresh: str) -> dict[str, Any]:
    """A login that is due at once."""
    tokens = {"access": access, "refresh": refresh, "expires": 0}
    return {"type": "oauth", **tokens, "email": "a@b.c"}


class Race:
    """Clients of a broker that is started again whenever it was killed."""

    def __init__(self, cli: Program, provider: RotatingProvider) -> None:
        self.cli = cli
        self.provider = provider
        self.done = 0
        self.starts = 0
        self.url = ""
        self.token = ""
        self.messages = ""
        self.seen: dict[int, set[str]] = {}
        self.lost: list[str] = []

    @property
    def is_over(self) -> bool:
        kills = self.provider.kills
        return self.done >= REQUESTS and min(kills.get(each, 0) for each in MOMENTS) >= KILLS

    def accounts(self) -> dict[str, Any]:
        rows = json.loads(next(self.cli.agent_dir.rglob("accounts.json")).read_text())["accounts"]
        return {row["provider"]: row for row in rows}

    async def start(self, port: str = "0") -> None:
        broker, self.url = await asyncio.to_thread(
            served, self.cli, "auth-broker", "serve", port=port
        )
        self.provider.broker = broker
        self.starts += 1

    async def keep_running(self) -> None:
        while not self.is_over:
            broker, chance = self.provider.broker, self.provider.chance
            assert broker is not None
            try:
                await asyncio.to_thread(broker.wait, chance.uniform(0.5, 4.0))
            except subprocess.TimeoutExpired:
                if chance.random() < 0.5:
                    broker.send_signal(signal.SIGTERM)  # a refresh in flight is finished
                else:
                    self.provider.kill("any time")
            self.messages += (await asyncio.to_thread(broker.communicate))[1].decode()
            await self.start(self.url.rpartition(":")[2])

    async def ask(self, http: aiohttp.ClientSession, id: str) -> None:
        while not self.is_over:
            if await self.request(http, id):
                self.done += 1
                await asyncio.sleep(self.provider.chance.uniform(0.1, 0.6))

    async def request(self, http: aiohttp.ClientSession, id: str) -> bool:
        """Ask for a usable token once; returns whether the broker had one, else after a pause."""
        try:
            async with http.post(f"{self.url}/v1/credential/{id}/refresh", json={}) as reply:
                answer = await reply.json()
                if reply.status == 200:
                    self.seen.setdefault(answer["version"], set()).add(answer["access"])
                    return True
                if reply.status == 410:
                    await self.log_in_again(http, answer["error"]["message"])
        except (aiohttp.ClientError, ConnectionError):
            pass  # the broker was killed
        await asyncio.sleep(0.05)
        return False

    async def log_in_again(self, http: aiohttp.ClientSession, reason: str) -> None:
        if not self.provider.is_revoked:
            return  # another client has done so
        self.lost.append(reason)
        body = {"provider": "anthropic", "credential": self.provider.log_in()}
        while True:
            try:
                async with http.post(f"{self.url}/v1/credential", json=body) as reply:
                    assert reply.status == 200, await reply.text()
                    return
            except (aiohttp.ClientError, ConnectionError):
                await asyncio.sleep(0.05)


@pytest.mark.full
@pytest.mark.timeout(400)
@pytest.mark.parametrize("grace", [GRACE_SECONDS, 0.0])
async def test_a_thousand_requests_while_the_broker_is_killed_at_random(
    tmp_path: Path, grace: float
) -> None:
    """50 clients, and logins that are due after a second.

    With a grace period nothing is lost. Without one, exactly the logins whose answer was lost are
    disabled, with a message, and nothing else is.
    """
    cli = Program.below(tmp_path)
    async with authorization_server() as issuer:
        # A login is renewed five minutes early, and pi counts five minutes less than was granted.
        issuer.lifetime = 601
        cli.write("settings.json", json.dumps({"oauthClients": {"anthropic": issuer.clients}}))
        provider = RotatingProvider(issuer, random.Random(7), grace)
        race = Race(cli, provider)
        key = {"type": "api_key", "key": "gsk-0123456789"}
        given = {"anthropic": entry("access-0", "refresh-0"), "groq": key}
        await asyncio.to_thread(cli.run, "auth-broker", "import", "-", piped=json.dumps(given))
        race.token = (await asyncio.to_thread(cli.run, "auth-broker", "token")).out.strip()
        await race.start()
        id = race.accounts()["anthropic"]["id"]
        headers = {"Authorization": f"Bearer {race.token}"}
        async with aiohttp.ClientSession(headers=headers) as http:
            async with asyncio.TaskGroup() as group:
                group.create_task(race.keep_running())
                for _ in range(CLIENTS):
                    group.create_task(race.ask(http, id))
            # The last kill may have interrupted a refresh, which the next request completes.
            provider.is_killing = False
            while not await race.request(http, id):
                pass
        assert provider.broker is not None
        race.messages += await asyncio.to_thread(ended, provider.broker)

        rows = race.accounts()
        assert rows["groq"]["credential"] == key
        assert rows["anthropic"]["credential"]["email"] == "a@b.c"
        assert rows["anthropic"]["credential"]["refresh"] == provider.current
        assert all(len(tokens) == 1 for tokens in race.seen.values())
        assert len(race.seen) > 5
        assert len(race.lost) == provider.refused
        if grace:
            assert provider.refused == 0
        else:
            assert 0 < provider.refused <= provider.kills["granted"] + provider.kills["answered"]
        for reason in race.lost:
            assert "a refresh was interrupted, and its answer is lost" in reason
            assert "pi auth-broker login anthropic to log in again" in reason
        assert race.messages.count("Disabled the login") == provider.refused
        assert "refresh-" not in race.messages
