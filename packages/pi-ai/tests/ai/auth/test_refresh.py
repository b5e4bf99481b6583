from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.login import Login, load_login
from pi.ai.auth.login_settings import login_settings
from pi.ai.auth.refresh import refresh_if_expiring
from pi.ai.auth.storage import AuthStorage
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.provider import Provider
from pi.base.locks import DirectoryLock
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply
from tests.ai.auth.oauth.passing_time import in_time

NOW = 1_700_000_000_000
MINUTE = 60_000

PROVIDER = Provider(id="xai", name="xAI", login="xai")
EXPIRED = OAuthCredential(access="old", refresh="refresh-0", expires=NOW, extra={"kept": 1})
NEW = OAuthCredential(
    access="access-1", refresh="refresh-1", expires=NOW + 55 * MINUTE, extra={"kept": 1}
)


@dataclass
class RefreshFixture:
    """Everything that a refresh needs, beside a real server."""

    server: AuthorizationServer
    storage: AuthStorage
    http: HttpClient
    clock: FakeClock

    async def fresh(
        self,
        seen: OAuthCredential = EXPIRED,
        *,
        min_expiry: float = 0.0,
        limit: float = 5.0,
        login: Login | None = None,
    ) -> OAuthCredential:
        return await refresh_if_expiring(
            PROVIDER,
            seen,
            login=login or load_login(PROVIDER),
            settings=login_settings(PROVIDER, {"xai": self.server.clients}),
            storage=self.storage,
            http=self.http,
            clock=self.clock,
            min_expiry=min_expiry,
            limit=limit,
        )


@pytest.fixture
async def kit(
    server: AuthorizationServer, storage: AuthStorage, http: HttpClient
) -> RefreshFixture:
    await storage.set("xai", EXPIRED)
    return RefreshFixture(server, storage, http, FakeClock(NOW))


def refreshing(refresh: Callable[..., Awaitable[OAuthCredential]]) -> Login:
    """A login module with the refresh function of the test."""
    module = ModuleType("login")
    module.refresh = refresh  # type: ignore[attr-defined]
    return cast("Login", module)


def expiring(minutes: float) -> OAuthCredential:
    return OAuthCredential(
        access="old", refresh="refresh-0", expires=NOW + round(minutes * MINUTE), extra={"kept": 1}
    )


@pytest.mark.parametrize(
    ("minutes", "min_expiry", "renewed"),
    [(5, 0, False), (4.9, 0, True), (30, 1800, False), (29, 1800, True), (5, 60, False)],
)
async def test_credentials_are_refreshed_five_minutes_or_min_expiry_before_they_expire(
    kit: RefreshFixture, minutes: float, min_expiry: float, renewed: bool
) -> None:
    old = expiring(minutes)
    await kit.storage.set("xai", old)

    assert await kit.fresh(old, min_expiry=min_expiry) == (NEW if renewed else old)
    assert await kit.storage.get("xai") == (NEW if renewed else old)


@pytest.mark.behaviour("refresh-is-single-flight")
async def test_tasks_share_one_refresh(kit: RefreshFixture) -> None:
    results = await asyncio.gather(*(kit.fresh() for _ in range(8)))

    assert results == [NEW] * 8
    assert await kit.storage.get("xai") == NEW
    assert len(kit.server.visits) == 1


@pytest.mark.behaviour("refresh-is-single-flight")
async def test_stores_of_one_file_share_one_refresh(kit: RefreshFixture, auth_json: Path) -> None:
    others = [
        RefreshFixture(kit.server, AuthStorage(auth_json), kit.http, kit.clock) for _ in range(3)
    ]

    results = await asyncio.gather(*(each.fresh() for each in (kit, *others)))

    assert results == [NEW] * 4
    assert len(kit.server.visits) == 1


@pytest.mark.behaviour("refresh-is-single-flight")
async def test_a_credential_renewed_by_another_process_is_used_even_if_it_expires_soon(
    kit: RefreshFixture,
) -> None:
    theirs = expiring(2)
    await kit.storage.set("xai", theirs)

    assert await kit.fresh(EXPIRED) == theirs
    assert kit.server.visits == []


RACER = """
import asyncio, pathlib, sys
from pi.ai.auth.resolve import resolve
from pi.ai.auth.storage import AuthStorage
from pi.ai.http.client import HttpClient
from pi.ai.provider import Provider
from pi.base.clock import SystemClock

async def main(path, url):
    storage = AuthStorage(pathlib.Path(path))
    provider = Provider(id="xai", name="xAI", login="xai")
    print("ready", flush=True)
    sys.stdin.readline()
    async with HttpClient(environ={}) as http:
        found = await resolve(
            provider, storage=storage, environ={}, http=http, clock=SystemClock(),
            clients={"xai": {"tokenUrl": url}},
        )
    print(found.access.api_key)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.behaviour("refresh-is-single-flight")
async def test_eight_processes_refresh_once(kit: RefreshFixture, auth_json: Path) -> None:
    command = [sys.executable, "-c", RACER, str(auth_json), kit.server.url("/token")]
    pipe = asyncio.subprocess.PIPE
    racers = [
        await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe) for _ in range(8)
    ]
    try:
        async with asyncio.timeout(60):
            for racer in racers:
                assert racer.stdout is not None
                assert await racer.stdout.readline() == b"ready\n"
            outcomes = await asyncio.gather(*(racer.communicate(b"go\n") for racer in racers))
    finally:
        for racer in racers:
            if racer.returncode is None:
                racer.kill()
                await racer.wait()

    assert [output for output, _ in outcomes] == [b"access-1\n"] * 8
    assert len(kit.server.visits) == 1
    stored = await kit.storage.get("xai")
    assert isinstance(stored, OAuthCredential)
    assert (stored.access, stored.refresh, stored.extra) == ("access-1", "refresh-1", {"kept": 1})


@pytest.mark.behaviour("stalled-refresh-releases-its-lock")
async def test_a_refresh_that_times_out_releases_the_lock(
    kit: RefreshFixture, auth_json: Path
) -> None:
    kit.server.stalled = asyncio.Event()

    with pytest.raises(ProviderUnavailable, match=r"did not answer within 0\.05 seconds"):
        await kit.fresh(limit=0.05)
    async with DirectoryLock(auth_json, wait=0):
        assert await kit.storage.get("xai") == EXPIRED

    kit.server.stalled = None
    assert await kit.fresh() == NEW


@pytest.mark.behaviour("stalled-refresh-releases-its-lock")
async def test_a_cancelled_refresh_stores_nothing_later(
    kit: RefreshFixture, auth_json: Path
) -> None:
    kit.server.stalled = asyncio.Event()
    waiting = asyncio.create_task(kit.fresh())
    async with asyncio.timeout(30):
        await kit.server.visited.wait()

        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        kit.server.stalled.set()
        await kit.server.granted.wait()

    async with DirectoryLock(auth_json, wait=0):
        assert await kit.storage.get("xai") == EXPIRED


@pytest.mark.behaviour("stalled-refresh-releases-its-lock")
async def test_a_task_cancelled_while_waiting_for_the_lock_sends_no_request(
    kit: RefreshFixture, auth_json: Path
) -> None:
    async with DirectoryLock(auth_json):
        waiting = asyncio.create_task(kit.fresh())
        await asyncio.wait({waiting}, timeout=0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert kit.server.visits == []
    assert await kit.storage.get("xai") == EXPIRED


@pytest.mark.behaviour("refreshed-token-by-identity")
async def test_a_login_made_during_the_refresh_is_not_overwritten(
    kit: RefreshFixture, auth_json: Path
) -> None:
    theirs = OAuthCredential(access="theirs", refresh="r", expires=NOW + 60 * MINUTE)

    async def refresh(*_: object) -> OAuthCredential:
        # Another program that ignores our lock, or considers it stale.
        Path(f"{auth_json}.lock").rmdir()
        await AuthStorage(auth_json).set("xai", theirs)
        return NEW

    assert await kit.fresh(login=refreshing(refresh)) == theirs
    assert await kit.storage.get("xai") == theirs


async def test_new_tokens_are_stored_even_if_the_lock_was_lost(
    kit: RefreshFixture, auth_json: Path
) -> None:
    async def refresh(*_: object) -> OAuthCredential:
        Path(f"{auth_json}.lock").rmdir()
        return NEW

    assert await kit.fresh(login=refreshing(refresh)) == NEW
    assert await kit.storage.get("xai") == NEW


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
async def test_a_permanent_refusal_raises_with_a_hint_and_keeps_the_credential(
    kit: RefreshFixture,
) -> None:
    kit.server.refresh_tokens.clear()

    with pytest.raises(AuthenticationFailed) as caught:
        await kit.fresh(expiring(3))

    assert caught.value.message == (
        "The login to xAI could not be renewed: The server refused: invalid_grant: used up"
    )
    assert caught.value.hint.startswith("Log in again with /login xai.")
    assert (caught.value.status, caught.value.code) == (400, "invalid_grant")
    assert await kit.storage.get("xai") == EXPIRED


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
@pytest.mark.parametrize("trouble", [Reply(403), Reply(429), Reply(502, "<html></html>")])
async def test_a_temporary_failure_is_retryable_and_an_unexpired_credential_is_still_used(
    kit: RefreshFixture, trouble: Reply
) -> None:
    alive = expiring(3)
    kit.server.troubles += [trouble] * 3

    with pytest.raises(ProviderUnavailable, match="could not be renewed now") as caught:
        await kit.fresh()
    assert caught.value.retryable

    await kit.storage.set("xai", alive)
    assert await kit.fresh(alive) == alive
    with pytest.raises(ProviderUnavailable):
        await kit.fresh(alive, min_expiry=600)
    assert await kit.storage.get("xai") == alive


async def test_a_failed_refresh_is_reported_to_all_waiting_tasks(kit: RefreshFixture) -> None:
    kit.server.troubles.append(Reply(503))

    results = await asyncio.gather(*(kit.fresh() for _ in range(4)), return_exceptions=True)

    assert [type(result) for result in results] == [ProviderUnavailable] * 4
    assert len(kit.server.visits) == 1


@pytest.mark.behaviour("lock-contention-waits")
async def test_a_lock_held_by_another_program_raises_after_a_minute(
    kit: RefreshFixture, auth_json: Path
) -> None:
    patience = FakeClock()
    kit.storage = AuthStorage(auth_json, clock=patience)

    async with DirectoryLock(auth_json):
        with pytest.raises(ProviderUnavailable, match=r"auth\.json is locked by another program"):
            await in_time(patience, kit.fresh())

    assert patience.monotonic() == pytest.approx(60, abs=1)


@pytest.mark.parametrize("instead", [None, ApiKeyCredential(key="k")])
async def test_a_refresh_of_a_credential_that_was_removed_or_replaced_raises(
    kit: RefreshFixture, instead: ApiKeyCredential | None
) -> None:
    await kit.storage.remove("xai")
    if instead:
        await kit.storage.set("xai", instead)

    with pytest.raises(AuthenticationFailed, match="no longer stored"):
        await kit.fresh()

    assert kit.server.visits == []


@pytest.mark.behaviour("refresh-is-silent")
async def test_a_failed_refresh_prints_and_logs_nothing(
    kit: RefreshFixture, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    kit.server.troubles += [Reply(403), Reply(400, {"error": "invalid_grant"})]

    for _ in range(2):
        with pytest.raises((ProviderUnavailable, AuthenticationFailed)):
            await kit.fresh()

    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
