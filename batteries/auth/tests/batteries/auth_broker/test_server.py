from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.batteries.auth_broker.running_broker import (
    HOUR,
    TOKEN,
    Broker,
    login,
    running_broker,
)


class Caller:
    """A client that shows statuses and bodies."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = url
        self.bodies: list[str] = []

    async def __call__(
        self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str
    ) -> tuple[int, Any]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = None if body is None else io.BytesIO(json.dumps(body).encode())
        async with self._http.request(method, self._url + path, data=data, headers=sent) as reply:
            text = await reply.text()
            self.bodies.append(text)
            return reply.status, json.loads(text) if text else reply.headers.get("ETag")


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[tuple[Broker, Caller]]:
    async with running_broker(folder) as broker, aiohttp.ClientSession() as http:
        yield broker, Caller(http, broker.url)


async def test_no_endpoint_returns_a_refresh_token(tmp_path: Path) -> None:
    async with calling(tmp_path) as (broker, call):
        assert await call("GET", "/v1/healthz", token=None) == (200, {"status": "ok", "version": 1})
        entry = login(broker.clock, email="a@b.c", refreshBackup="refresh-x", idToken="refresh-y")
        status, added = await call(
            "POST", "/v1/credential", {"provider": "anthropic", "credential": entry}
        )
        assert (status, added["label"], added["extra"]) == (200, "a@b.c", {"email": "a@b.c"})
        path = f"/v1/credential/{added['id']}"

        _, snapshot = await call("GET", "/v1/snapshot")
        assert snapshot["accounts"] == [added]
        assert await call("GET", "/v1/snapshot", If_None_Match='"1"') == (304, '"1"')
        assert (await call("POST", f"{path}/refresh", {}))[1]["access"] == "access-0"
        assert (await call("POST", f"{path}/refresh", {"version": 1}))[1]["access"] == "access-1"
        until = broker.clock.now_ms() + 60_000
        assert (await call("POST", f"{path}/block", {"until": until}))[1]["blockedUntil"] == until
        assert (await call("DELETE", f"{path}/blocks"))[1]["blockedUntil"] == 0
        limits = [{"name": "5 hours", "usedPercent": 40.0, "resetsAt": None}]
        await call("POST", "/v1/usage", {"id": added["id"], "limits": limits, "requests": 1})
        _, usage = await call("GET", "/v1/usage")
        assert usage["accounts"][0]["limits"] == limits
        assert usage["accounts"][0]["requests"] == 1
        assert (await call("POST", f"{path}/disable", {"reason": "lost"}))[1]["access"] == ""
        _, disabled = await call("GET", "/v1/credentials/disabled")
        assert [each["disabled"] for each in disabled["accounts"]] == ["lost"]
        assert (await call("POST", f"{path}/refresh", {}))[0] == 410

        assert "refresh-" not in "".join(call.bodies)
        assert broker.reports == []


async def test_a_request_waits_for_the_next_generation(tmp_path: Path) -> None:
    async with calling(tmp_path) as (broker, call):
        waiting = asyncio.create_task(call("GET", "/v1/snapshot?wait=30", If_None_Match='"0"'))
        entry = login(broker.clock)
        await call("POST", "/v1/credential", {"provider": "anthropic", "credential": entry})

        status, snapshot = await waiting

        assert (status, snapshot["generation"]) == (200, 1)


async def test_a_stream_sends_a_snapshot_for_every_change(tmp_path: Path) -> None:
    async with calling(tmp_path) as (broker, call), aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with http.get(f"{broker.url}/v1/snapshot/stream", headers=headers) as stream:
            assert await stream.content.readline() == b"id: 0\n"
            while await stream.content.readline() != b"\n":
                pass
            entry = login(broker.clock)
            await call("POST", "/v1/credential", {"provider": "anthropic", "credential": entry})
            assert await stream.content.readline() == b"id: 1\n"


async def test_a_client_that_leaves_a_stream_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with calling(tmp_path) as (broker, call):
        async with aiohttp.ClientSession() as http:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with http.get(f"{broker.url}/v1/snapshot/stream", headers=headers) as stream:
                await stream.content.readline()
        for label in ("a", "b"):  # the first write after the end may still succeed
            entry = {"provider": "anthropic", "credential": login(broker.clock), "label": label}
            await call("POST", "/v1/credential", entry)
        await call("GET", "/v1/healthz")

    assert caplog.records == []


async def test_a_request_that_is_too_large_is_rejected_and_logged_with_its_status(
    tmp_path: Path,
) -> None:
    async with calling(tmp_path) as (broker, call):
        status, _ = await call("POST", "/v1/credential", "x" * 1_100_000)

        assert status == 413
        reason = HTTPStatus(413).phrase  # not the same in all versions of Python
        assert broker.reports == [f"Refused POST /v1/credential of 127.0.0.1: {reason}"]


async def test_a_change_by_another_process_is_noticed(tmp_path: Path) -> None:
    async with calling(tmp_path) as (broker, call):
        await call("GET", "/v1/snapshot")
        waiting = asyncio.create_task(call("GET", "/v1/snapshot?wait=30", If_None_Match='"0"'))
        while not broker.clock.sleeping:  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0)
        await broker.store.put("anthropic", login(broker.clock))
        while not waiting.done():
            await broker.clock.advance(1)
            await asyncio.sleep(0.001)
        assert (await waiting)[1]["generation"] == 1


async def test_logins_that_expire_soon_are_renewed_without_a_client(tmp_path: Path) -> None:
    async with calling(tmp_path) as (broker, _):
        broker.issuer.lifetime = 2 * HOUR
        await broker.store.put("anthropic", login(broker.clock, left_ms=340_000))
        await broker.clock.advance(61)
        while broker.store.read().accounts[0].version == 1:  # noqa: ASYNC110 (as above)
            await asyncio.sleep(0.001)

        assert broker.issuer.refreshes == 1


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        (None, {}, 401),
        ("another-token", {}, 401),
        (TOKEN[:-1], {}, 401),
        (TOKEN + "x", {}, 401),
        ("", {}, 401),
        ("ключ", {}, 401),
        (TOKEN, {"Origin": "https://evil.example"}, 403),
        (TOKEN, {"Origin": "null"}, 403),
        (TOKEN, {"Host": "evil.example"}, 403),
        (TOKEN, {"Host": "127.0.0.1.evil.example:8765"}, 403),
    ],
)
async def test_unauthorised_callers_are_rejected_and_logged_without_secrets(
    tmp_path: Path, token: str | None, headers: dict[str, str], status: int
) -> None:
    async with calling(tmp_path) as (broker, call):
        await broker.store.put("anthropic", login(broker.clock))

        got, body = await call("GET", "/v1/snapshot", token=token, **headers)

        assert got == status
        assert "access-0" not in json.dumps(body)
        (line,) = broker.reports
        assert line.startswith("Refused GET /v1/snapshot of 127.0.0.1: ")
        assert not (token and token in line)


async def test_a_page_gets_no_permission_by_preflight(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, aiohttp.ClientSession() as http:
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
        async with http.options(f"{broker.url}/v1/snapshot", headers=headers) as reply:
            assert reply.status == 403
            assert not [name for name in reply.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/snapshot?include=refresh", 400),
        ("GET", "/v1/credential/{id}", 404),
        ("GET", "/v1/credential/{id}/refresh", 405),
        ("GET", "/v1/credential/{id}/refresh-token", 404),
        ("POST", "/v1/credential/other/refresh", 410),
        ("POST", "/v1/credential/%2e%2e%2faccounts.json/refresh", 410),
    ],
)
async def test_no_request_path_returns_a_refresh_token(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    async with calling(tmp_path) as (broker, call):
        account = await broker.store.put("anthropic", login(broker.clock))

        got, body = await call(method, path.format(id=account.id))

        assert got == status
        assert "refresh-0" not in json.dumps(body)


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "api_key", "key": "!cat /etc/passwd"},
        {"type": "api_key", "key": "$HOME"},
        {"type": "api_key"},
        {"type": "oauth", "access": "a"},
        {},
    ],
)
async def test_incomplete_or_machine_specific_credentials_are_not_stored(
    tmp_path: Path, entry: Any
) -> None:
    async with calling(tmp_path) as (broker, call):
        status, _ = await call("POST", "/v1/credential", {"provider": "groq", "credential": entry})

        assert (status, broker.store.read().accounts) == (400, ())
        assert (await call("POST", "/v1/credential", "nonsense"))[0] == 400
