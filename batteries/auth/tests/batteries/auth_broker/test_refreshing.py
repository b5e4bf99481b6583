from __future__ import annotations

import asyncio
from contextlib import suppress
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

    def restart(self) -> None:
        """Continue as another process with the same files."""
        self.store = BrokerStore(self.store.folder)
        self.refresher = Refresher(self.store, self.issuer.renew, self.clock, self.reports.append)

    async def kill_before_the_answer(self, id: str, seen: int | None = None) -> None:
        """The provider rotates the refresh token; the broker ends before it has the response."""
        self.issuer.holds_answer = True
        flight = asyncio.create_task(self.refresher.refresh(id, seen))
        await self.issuer.granted.wait()
        for task in asyncio.all_tasks():
            if task.get_name() == f"refresh {id}":
                task.cancel()
        with suppress(asyncio.CancelledError):
            await flight
        self.issuer.holds_answer = False
        self.restart()

    def journal(self) -> list[str]:
        return [path.name for path in self.store.folder.glob("refresh-*")]

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


async def test_a_refresh_request_for_an_older_version_returns_the_current_token(
    tmp_path: Path,
) -> None:
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


async def test_fields_missing_in_the_refresh_response_are_kept(tmp_path: Path) -> None:
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
    assert it.reports == [
        "Disabled the login default to anthropic: invalid_grant."
        " Run pi auth-broker login anthropic to log in again."
    ]

    assert await it.add(HOUR) == id
    assert (await it.refresher.refresh(id)).disabled == ""


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
async def test_a_network_error_disables_no_login_and_delays_the_next_refresh(
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


async def test_a_cancelled_client_does_not_cancel_the_shared_refresh(tmp_path: Path) -> None:
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


async def test_an_interrupted_refresh_is_repeated_with_the_old_token(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    it.issuer.grace = 30_000
    id = await it.add(HOUR)
    await it.kill_before_the_answer(id, seen=1)
    (left,) = it.store.folder.glob("refresh-*")
    assert left.stat().st_mode & 0o777 == 0o600
    await it.clock.advance(29)

    await it.refresher.refresh_due()  # although it is not due by its expiry

    account = it.store.read().account(id)
    assert account is not None
    assert (account.credential["refresh"], account.disabled) == ("refresh-2", "")
    assert (it.issuer.refreshes, it.reports, it.journal()) == (2, [], [])


async def test_a_lost_refresh_response_disables_only_that_login_and_is_reported(
    tmp_path: Path,
) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    other = (await it.store.put("groq", {"type": "api_key", "key": "gsk"})).id
    await it.kill_before_the_answer(id)

    await it.refresher.refresh_due()

    stored = it.store.read()
    lost, kept = stored.account(id), stored.account(other)
    assert lost is not None
    assert kept is not None
    assert "a refresh was interrupted, and its answer is lost: invalid_grant" in lost.disabled
    assert (lost.credential["refresh"], kept.credential["key"]) == ("refresh-0", "gsk")
    assert any("Run pi auth-broker login anthropic to log in again." in r for r in it.reports)
    assert it.journal() == []
    it.issuer.valid = {"refresh-0"}
    assert await it.add(0) == id  # the new login
    assert (await it.refresher.refresh(id)).credential["refresh"] == "refresh-2"


async def test_an_interrupted_refresh_is_retried_after_a_provider_outage(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    it.issuer.grace = 60_000
    id = await it.add(0)
    await it.kill_before_the_answer(id)
    it.issuer.trouble = [ProviderUnavailable("status 502")]

    await it.refresher.refresh_due()
    assert len(it.journal()) == 1
    await it.clock.advance(6)
    await it.refresher.refresh_due()

    assert (it.store.read().accounts[0].credential["refresh"], it.journal()) == ("refresh-2", [])


@pytest.mark.parametrize("restart", [True, False])
async def test_an_answer_that_cannot_be_stored_is_stored_later(
    tmp_path: Path, *, restart: bool
) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    lock = tmp_path / "accounts.lock"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(PiError, match=r"accounts\.lock"):
        await it.refresher.refresh(id)
    lock.rmdir()
    assert it.store.read().accounts[0].version == 1
    if restart:
        it.restart()

    account = await it.refresher.refresh(id)

    assert (account.credential["refresh"], account.version) == ("refresh-1", 2)
    assert (it.issuer.refreshes, it.issuer.revoked, it.journal()) == (1, False, [])


async def test_no_refresh_token_is_sent_if_the_journal_cannot_be_written(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    (tmp_path / f"refresh-{id}.json").mkdir()

    with pytest.raises(PiError, match="it is not a regular file"):
        await it.refresher.refresh(id)

    assert (it.issuer.refreshes, it.issuer.valid) == (0, {"refresh-0"})


@pytest.mark.parametrize("cut", [0, 10, -3])
async def test_a_truncated_journal_record_is_treated_as_no_response(
    tmp_path: Path, cut: int
) -> None:
    it = Renewing(tmp_path)
    it.issuer.grace = 60_000
    id = await it.add(0)
    (tmp_path / "accounts.lock").unlink()
    (tmp_path / "accounts.lock").mkdir()
    with suppress(PiError):
        await it.refresher.refresh(id)
    (tmp_path / "accounts.lock").rmdir()
    path = tmp_path / f"refresh-{id}.json"
    data = path.read_bytes().rstrip()
    path.write_bytes(data[:cut])
    it.restart()

    assert (await it.refresher.refresh(id)).credential["refresh"] == "refresh-2"


async def test_a_refused_client_disables_no_login(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    it.issuer.trouble = [AuthenticationFailed("invalid_client", code="invalid_client")]

    with pytest.raises(BrokerUnavailable, match="invalid_client"):
        await it.refresher.refresh(id)
    await it.clock.advance(6)

    assert (await it.refresher.refresh(id)).credential["refresh"] == "refresh-1"


async def test_the_journal_of_a_removed_account_is_removed(tmp_path: Path) -> None:
    it = Renewing(tmp_path)
    id = await it.add(0)
    await it.kill_before_the_answer(id)
    await it.store.remove(id)

    await it.refresher.refresh_due()

    assert (it.journal(), it.reports) == ([], [])


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
