from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.config_values import used_secrets
from pi.ai.models.model import Model
from pi.batteries.auth_broker.adapter import LOGGED_OUT, BrokerCommands, extension
from pi.batteries.auth_broker.client import BrokerClient, SnapshotCache
from pi.batteries.auth_broker.configuration import BrokerConfig, broker_config, read_pools
from pi.batteries.auth_broker.protocol import AccountUsage, BrokerSnapshot, Limit, SharedAccount
from pi.batteries.auth_broker.source import choose
from pi.extension import (
    AuthenticationFailed,
    ExtensionAPI,
    ModelRequest,
    PiError,
    StreamEvent,
)
from tests.batteries.auth_broker.running_broker import (
    HOUR,
    TOKEN,
    battery,
    login,
    running_broker,
)
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


def environ(url: str, **more: str) -> dict[str, str]:
    names = {"URL": url, "TOKEN": TOKEN} | more
    return {f"PI_AUTH_BROKER_{name}": value for name, value in names.items() if value}


@asynccontextmanager
async def client(
    tmp_path: Path, url: str, apis: list[ExtensionAPI] | None = None, **more: str
) -> AsyncIterator[ExtensionFixture]:
    """A session that takes its credentials from a broker."""

    async def load(pi: ExtensionAPI) -> None:
        if apis is not None:
            apis.append(pi)
        await extension(pi)

    options = {"candidates": (battery("auth_broker", load),)}
    async with extension_session(
        tmp_path / "client", environ=environ(url, **more), extension_options=options
    ) as hosted:
        yield hosted


async def key(hosted: ExtensionFixture, provider: str = "anthropic") -> str | None:
    access = await hosted.fixture.registry.models.access(provider)
    return None if access is None else access.api_key


async def test_a_session_uses_the_credentials_of_the_broker(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock, email="a@b.c"))
        await broker.store.put("groq", {"type": "api_key", "key": "gsk", "env": {"A": "b"}})
        async with client(tmp_path, broker.url) as hosted:
            models = hosted.fixture.registry
            assert models.has_auth("anthropic")
            assert models.has_auth("groq")
            assert not models.has_auth("openai")
            assert (await key(hosted), await key(hosted, "groq")) == ("access-0", "gsk")
            (row,) = [
                each
                for each in await hosted.session.accounts.all()
                if each.provider.id == "anthropic"
            ]
            assert row.source == f"auth broker {broker.url}: a@b.c"
            assert TOKEN in used_secrets()
            assert not (hosted.fixture.agent_dir / "auth.json").exists()


async def test_a_login_that_ends_is_renewed_by_the_broker(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock, left_ms=20_000))
        async with client(tmp_path, broker.url) as hosted:
            got = await asyncio.gather(*(key(hosted) for _ in range(50)))

            assert set(got) == {"access-1"}
            assert broker.issuer.refreshes == 1


async def test_a_refused_token_is_replaced_once(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock))
        apis: list[ExtensionAPI] = []
        async with client(tmp_path, broker.url, apis):
            first = await apis[0].auth.access("anthropic")
            second = await apis[0].auth.refresh("anthropic")

            assert (first and first.api_key, second and second.api_key) == ("access-0", "access-1")
            assert broker.issuer.refreshes == 1


async def test_requests_that_are_refused_together_cause_one_refresh(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock))
        async with client(tmp_path, broker.url) as hosted:
            (row,) = list(hosted.host.registries.auth_sources)
            old = await hosted.fixture.registry.models.access("anthropic")
            assert old is not None
            assert row.value.rejected is not None
            for _ in range(3):  # one after the other, all about the first token
                again = row.value.rejected("anthropic", old)
                assert isinstance(again, Awaitable)
                assert await again
            assert broker.issuer.refreshes == 1
            assert await key(hosted) == "access-1"


async def test_a_key_of_the_broker_is_never_executed(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("groq", {"type": "api_key", "key": "!touch pwned; echo $HOME"})
        async with client(tmp_path, broker.url) as hosted:
            assert await key(hosted, "groq") == "!touch pwned; echo $HOME"
            assert not (hosted.fixture.cwd / "pwned").exists()


async def test_an_unreachable_broker_is_replaced_only_by_a_recent_snapshot(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock, left_ms=9 * HOUR))
        async with client(tmp_path, broker.url) as hosted:
            assert await key(hosted) == "access-0"
    stored = next(tmp_path.rglob("snapshot.enc"))
    assert b"access-0" not in stored.read_bytes()
    assert stored.stat().st_mode & 0o777 == 0o600

    async with client(tmp_path, broker.url) as hosted:
        assert await key(hosted) == "access-0"
        await hosted.fixture.clock.advance(3601)
        with pytest.raises(AuthenticationFailed, match="cannot be reached"):
            await key(hosted)
    async with client(tmp_path, broker.url, SNAPSHOT_TTL_MS="0") as hosted:
        with pytest.raises(AuthenticationFailed, match="cannot be reached"):
            await key(hosted)
        assert any("cannot be reached" in line for line in hosted.fixture.reports)


async def test_no_local_key_is_used_while_the_broker_is_unreachable(tmp_path: Path) -> None:
    agent = tmp_path / "client" / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "auth.json").write_text('{"anthropic": {"type": "api_key", "key": "mine"}}')
    async with client(tmp_path, "http://127.0.0.1:1") as hosted:
        with pytest.raises(AuthenticationFailed, match="cannot be reached"):
            await key(hosted)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejection_by_the_broker_removes_the_cached_snapshot(
    tmp_path: Path, status: int
) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("anthropic", login(broker.clock, left_ms=9 * HOUR))
        async with client(tmp_path, broker.url):
            pass
    port = int(broker.url.rpartition(":")[2])

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        writer.close()

    refusing = await asyncio.start_server(refuse, "127.0.0.1", port, reuse_address=True)
    async with refusing, client(tmp_path, broker.url) as hosted:
        with pytest.raises(AuthenticationFailed, match="refuses this machine"):
            await key(hosted)
        assert not list(tmp_path.rglob("snapshot.enc"))


async def test_a_url_without_a_token_is_an_error(tmp_path: Path) -> None:
    async with client(tmp_path, "http://127.0.0.1:1", TOKEN="") as hosted:
        with pytest.raises(AuthenticationFailed, match="the auth broker cannot be used"):
            await key(hosted)
        assert any("PI_AUTH_BROKER_TOKEN" in line for line in hosted.fixture.reports)


async def test_a_rate_limit_moves_all_machines_to_another_account(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        for label in ("work", "spare"):
            entry = {"type": "api_key", "key": f"key-{label}"}
            await broker.store.put("anthropic", entry, label)
        apis: list[ExtensionAPI] = []
        async with client(tmp_path, broker.url, apis) as hosted:
            first = await key(hosted)
            assert await key(hosted) == first  # a session keeps its account

            headers = {"anthropic-ratelimit-unified-5h-utilization": "0.97", "retry-after": "600"}
            await answered(hosted, 429, headers)
            second = await key(hosted)

            assert {first, second} == {"key-work", "key-spare"}
            await until(lambda: any(each.blocks for each in broker.store.read().accounts))
            (blocked,) = [each for each in broker.store.read().accounts if each.blocks]
            assert blocked.credential["key"] == first
            assert blocked.blocks[0].until == broker.clock.now_ms() + 600_000
            described = hosted.fixture.registry.models.credential_source("anthropic")
            assert described.endswith("one of 2 accounts")


async def answered(hosted: ExtensionFixture, status: int, headers: dict[str, str]) -> None:
    """Let a response of Anthropic pass through the wraps of the session."""
    rows = list(hosted.host.registries.model_wraps)
    model = Model(id="m", name="M", api="anthropic-messages", provider="anthropic")

    async def send(request: ModelRequest) -> AsyncIterator[StreamEvent]:
        assert request.options.on_response is not None
        await request.options.on_response(status, headers, request.model)
        none: tuple[StreamEvent, ...] = ()
        for event in none:
            yield event

    for row in rows:
        async for _ in row.value.wrap(ModelRequest(model=model, messages=()), send):
            pass


async def until(is_true: Any) -> None:
    async with asyncio.timeout(10):
        while not is_true():  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0.002)


async def test_a_pool_limits_the_accounts_of_a_machine(tmp_path: Path) -> None:
    pools = tmp_path / "pools.json"
    pools.write_text(json.dumps({"anthropic": ["spare"], "groq": ["missing"]}))
    async with running_broker(tmp_path / "broker") as broker:
        for label in ("work", "spare"):
            await broker.store.put("anthropic", {"type": "api_key", "key": label}, label)
        await broker.store.put("groq", {"type": "api_key", "key": "g"}, "g")
        async with client(tmp_path, broker.url, ACCOUNT_POOL_FILE=str(pools)) as hosted:
            assert await key(hosted) == "spare"
            with pytest.raises(AuthenticationFailed, match="in the pool of this machine"):
                await key(hosted, "groq")


async def test_a_new_provider_of_the_broker_is_noticed(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        await broker.store.put("groq", {"type": "api_key", "key": "g"})
        async with client(tmp_path, broker.url) as hosted:
            await broker.store.put("anthropic", login(broker.clock))
            assert not hosted.fixture.registry.has_auth("anthropic")
            await hosted.fixture.clock.advance(31)
            await key(hosted, "groq")
            assert hosted.fixture.registry.has_auth("anthropic")


async def test_client_methods_call_the_endpoints_of_the_broker(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        apis: list[ExtensionAPI] = []
        async with client(tmp_path, broker.url, apis):
            asked = BrokerClient(apis[0].http, BrokerConfig(url=broker.url, token=TOKEN))
            account = await asked.add("groq", {"type": "api_key", "key": "g"}, "team")
            assert (await asked.unblock(account.id)).label == "team"
            assert (await asked.disable(account.id, "gone")).disabled == "gone"
            assert await asked.snapshot(3) is not None
            assert (await asked.health())["status"] == "ok"
            with pytest.raises(PiError, match="There is no account"):
                await asked.block("missing", 1, "")


async def test_the_doctor_lists_disabled_logins_with_advice(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "broker") as broker:
        apis: list[ExtensionAPI] = []
        async with client(tmp_path, broker.url, apis):
            config = BrokerConfig(url=broker.url, token=TOKEN)
            asked = BrokerClient(apis[0].http, config)
            for label, reason in (("a", ""), ("b", LOGGED_OUT), ("c", "invalid_grant")):
                account = await asked.add("groq", {"type": "api_key", "key": "g"}, label)
                if reason:
                    await asked.disable(account.id, reason)
            commands = BrokerCommands(apis[0], tmp_path / "broker", config, None)

            found = await commands.doctor(apis[0].context)

    assert [each.level for each in found] == ["good", "good", "note", "broken"]
    assert found[-1].text.endswith("disabled: invalid_grant")
    assert found[-1].advice == "Run pi auth-broker login groq."


# Pure parts ---------------------------------------------------------------------------------------


def account(id: str, **more: Any) -> SharedAccount:
    usual: dict[str, Any] = {
        "provider": "p",
        "label": id,
        "type": "api_key",
        "access": id,
        "version": 1,
    }
    return SharedAccount(**({"id": id, "label": id, "access": id} | usual | more))


def used(id: str, percent: float) -> AccountUsage:
    return AccountUsage(id=id, limits=(Limit(name="5 hours", used_percent=percent),))


def test_the_least_used_account_is_chosen_and_sessions_are_distributed() -> None:
    rows = [account("a"), account("b"), account("c", disabled="x"), account("d", blocked_until=9)]
    usage = {"a": used("a", 80), "b": used("b", 15)}

    assert choose(rows, usage, now_ms=5) == rows[1]
    assert choose(rows, usage, now_ms=5, current="a") == rows[0]
    assert choose(rows, usage, now_ms=5, current="c") == rows[1]
    assert choose(rows, usage, now_ms=9) == rows[3]  # the block has ended, and nothing is used
    assert choose(rows[2:], {}, now_ms=5) is None
    chosen = [choose(rows[:2], {}, now_ms=5, session=str(number)) for number in range(200)]
    assert 60 < chosen.count(rows[0]) < 140


def test_the_snapshot_is_bound_to_token_and_url(tmp_path: Path) -> None:
    path = tmp_path / "c" / "snapshot.enc"
    snapshot = BrokerSnapshot(generation=3, generated_at=1, accounts=(account("a"),))
    SnapshotCache(path, token="t", url="u").write(snapshot)

    assert SnapshotCache(path, token="t", url="u").read() == snapshot
    assert SnapshotCache(path, token="t2", url="u").read() is None
    assert SnapshotCache(path, token="t", url="u2").read() is None
    data = path.read_bytes()
    for broken in (b"", b"PIAB1", data[:-1], data[:20] + b"x" + data[21:], b"x" * 99):
        path.write_bytes(broken)
        assert SnapshotCache(path, token="t", url="u").read() is None


def test_environment_variables_override_settings_and_a_token_may_name_a_variable(
    tmp_path: Path,
) -> None:
    settings = {"auth.broker.url": "https://b:8765/", "auth.broker.token": "$TEAM"}

    assert broker_config({}, lambda key: None, tmp_path) is None
    found = broker_config({"TEAM": "t"}, settings.get, tmp_path)
    assert found is not None
    assert (found.url, found.token, found.ttl_ms) == ("https://b:8765", "t", 3_600_000)
    older = {"OMP_AUTH_BROKER_URL": "http://o", "OMP_AUTH_BROKER_TOKEN": "o"}
    found = broker_config(older, settings.get, tmp_path)
    assert found is not None
    assert (found.url, found.token) == ("http://o", "o")
    for broken in (
        {"PI_AUTH_BROKER_URL": "ftp://x"},
        {"PI_AUTH_BROKER_SNAPSHOT_TTL_MS": "soon", "TEAM": "t"},
        {"PI_AUTH_BROKER_ACCOUNT_POOL_FILE": "/nowhere", "TEAM": "t"},
        {},
    ):
        with pytest.raises(PiError):
            broker_config(broken, settings.get, tmp_path)
    with pytest.raises(PiError, match="cannot be read"):
        read_pools(b"[1]", "x")
