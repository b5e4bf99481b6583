from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.batteries.auth_broker.protocol import BrokerUnavailable
from pi.batteries.auth_broker.refresher import AccountGone, Refresher
from pi.batteries.auth_broker.store import BrokerStore
from pi.extension import AuthenticationFailed, PiError
from pi.testing import FakeClock
from tests.batteries.auth_broker.running_broker import HOUR, Issuer, login


class Renewing:
    """A store with one login, and its issuer."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.store = BrokerStore(folder)
        self.issuer = Issuer(self.clock)
        self.reports: list[str] = []
        self.refresher = Refresher(self.store, self.issuer.renew, self.clock, self.reports.append)

    async def add(self, left_ms: int, **extra: str) -> str:
        entry = {**login(self.clock, left_ms=left_ms), **extra}
        return (await self.store.put("anthropic", entry)).id


@pytest.mark.behaviour("refresh-is-single-flight")
async def test_fifty_clients_at_expiry_cause_one_refresh(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)

    got = await asyncio.gather(*(it.refresher.refresh(id) for _ in range(50)))

    assert {each.credential["access"] for each in got} == {"access-1"}
    assert (it.issuer.refreshes, it.issuer.revoked) == (1, False)


async def test_a_client_that_names_an_older_version_uses_up_no_grant(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(HOUR)

    first = await it.refresher.refresh(id, 1)
    late = await it.refresher.refresh(id, 1)
    not_due = await it.refresher.refresh(id)

    assert first.version == late.version == not_due.version == 2
    assert it.issuer.refreshes == 1


async def test_a_login_is_renewed_five_minutes_early_and_not_before(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    await it.add(301_000)

    await it.refresher.refresh_due()
    assert it.issuer.refreshes == 0
    await it.clock.advance(2)
    await it.refresher.refresh_due()
    assert it.issuer.refreshes == 1


async def test_fields_that_the_server_does_not_repeat_are_kept(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0, accountId="acc", email="a@b.c")

    account = await it.refresher.refresh(id)

    assert account.credential == {
        "type": "oauth",
        "access": "access-1",
        "refresh": "refresh-1",
        "expires": it.clock.now_ms() + HOUR,
        "accountId": "acc",
        "email": "a@b.c",
    }
    assert BrokerStore(tmp_path).read().account(id) == account


async def test_a_refused_grant_disables_the_login_until_the_next_login(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.trouble = [AuthenticationFailed("invalid_grant")]

    with pytest.raises(AccountGone, match="disabled: invalid_grant"):
        await it.refresher.refresh(id)
    with pytest.raises(AccountGone):
        await it.refresher.refresh(id)
    stored = it.store.read().account(id)
    assert stored is not None
    assert stored.disabled == "invalid_grant"
    assert stored.credential["refresh"] == "refresh-0"  # never deleted
    assert it.reports == ["Disabled the login default to anthropic: invalid_grant"]

    assert await it.add(HOUR) == id
    assert (await it.refresher.refresh(id)).disabled == ""


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
async def test_a_fault_of_the_network_disables_nothing_and_is_not_repeated_at_once(
    tmp_path: Path,
) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.trouble = [ProviderUnavailable("status 502"), ProviderUnavailable("status 502")]

    for _ in range(20):
        with pytest.raises(BrokerUnavailable, match="status 502"):
            await it.refresher.refresh(id)
    assert len(it.issuer.trouble) == 1
    await it.clock.advance(6)
    with pytest.raises(BrokerUnavailable):
        await it.refresher.refresh(id)
    await it.clock.advance(6)
    assert (await it.refresher.refresh(id)).credential["access"] == "access-1"


async def test_a_client_that_goes_away_leaves_the_refresh_to_the_others(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.gate = asyncio.Event()

    gone = asyncio.create_task(it.refresher.refresh(id))
    stays = asyncio.create_task(it.refresher.refresh(id))
    await it.issuer.asked.wait()
    gone.cancel()
    it.issuer.gate.set()

    assert (await stays).credential["access"] == "access-1"
    assert it.issuer.refreshes == 1


@pytest.mark.behaviour("refreshed-token-by-identity")
async def test_a_login_made_during_a_refresh_is_not_overwritten(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.gate = asyncio.Event()
    flight = asyncio.create_task(it.refresher.refresh(id))
    await it.issuer.asked.wait()

    other = BrokerStore(tmp_path)  # pi auth-broker login in another terminal
    await other.put("openai-codex", login(it.clock, number=8))
    await other.put("anthropic", login(it.clock, number=7))
    it.issuer.gate.set()

    assert (await flight).credential["access"] == "access-7"
    rows = {each.provider: each.credential["access"] for each in it.store.read().accounts}
    assert rows == {"anthropic": "access-7", "openai-codex": "access-8"}


async def test_the_end_of_the_program_waits_for_a_refresh(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.gate = asyncio.Event()
    client = asyncio.create_task(it.refresher.refresh(id))
    await it.issuer.asked.wait()
    client.cancel()
    it.issuer.gate.set()

    await it.refresher.settle()

    stored = BrokerStore(tmp_path).read().account(id)
    assert stored is not None
    assert stored.credential["refresh"] == "refresh-1"


async def test_the_store_is_private_counts_changes_and_keeps_a_damaged_file(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    first, second = BrokerStore(tmp_path), BrokerStore(tmp_path)

    await asyncio.gather(
        *(store.put("p", login(it.clock), f"{n}") for n, store in enumerate([first, second] * 10))
    )

    assert len(first.read().accounts) == 20
    assert second.read().generation == 20
    assert first.path.stat().st_mode & 0o777 == 0o600
    assert await first.remove(first.read().accounts[0].id)
    assert not await first.remove("missing")

    first.path.write_bytes(b"{broken")
    with pytest.raises(PiError, match="cannot be used"):
        await first.put("p", login(it.clock))
    assert first.path.read_bytes() == b"{broken"
    first.path.chmod(0o644)
    with pytest.raises(PiError, match="Other users can read"):
        first.read()
