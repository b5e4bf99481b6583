"""Requests through proxy.py, a third-party proxy, in a child process."""

from __future__ import annotations

import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import ConnectFailed, ProxyFailed
from pi.ai.http.request import HttpRequest
from pi.ai.http.tls import TlsSettings
from tests.ai.http.asgi_child import content
from tests.ai.http.raw_server import Peer, answering, ok, raw_server
from tests.ai.http.real_server import child

pytestmark = pytest.mark.slow

BODY = content(300_000)


@contextmanager
def running_proxy(folder: Path, *options: str) -> Iterator[int]:
    """A proxy.py on a port of its choice."""
    port_file = folder / "port"
    command = [sys.executable, "-m", "proxy", "--hostname", "127.0.0.1", "--port", "0"]
    limits = ["--num-workers", "1", "--num-acceptors", "1", "--log-level", "CRITICAL"]
    with child([*command, "--port-file", port_file, *limits, *options]):
        deadline = time.monotonic() + 20
        while not (port_file.exists() and port_file.read_text().strip()):
            assert time.monotonic() < deadline, "proxy.py did not start"
            time.sleep(0.02)
        yield int(port_file.read_text())


@pytest.fixture(scope="module")
def open_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running_proxy(tmp_path_factory.mktemp("open")) as port:
        yield port


@pytest.fixture(scope="module")
def guarded_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running_proxy(tmp_path_factory.mktemp("guarded"), "--basic-auth", "user:p@ss") as port:
        yield port


async def echo(peer: Peer) -> None:
    """Answer every request with its own body, and report whether a proxy passed it on."""
    proxied = False
    while True:
        head, _, body = (await peer.request()).partition(b"\r\n\r\n")
        # proxy.py marks only the first request of a connection.
        proxied = proxied or b"\r\nvia: " in head.lower()
        await peer.send(ok(body, f"X-Proxied: {proxied}"))


def settings(authority_file: Path) -> TlsSettings:
    return TlsSettings(extra_ca=str(authority_file))


async def test_plain_requests_go_through_the_proxy(open_proxy: int) -> None:
    environ = {"HTTP_PROXY": f"http://127.0.0.1:{open_proxy}"}
    async with raw_server(echo) as server, HttpClient(environ=environ) as client:
        for size in (0, 1, len(BODY)):
            answer = await client.request(
                HttpRequest(method="POST", url=server.url, body=BODY[:size])
            )
            assert (answer.body, answer.headers.get("x-proxied")) == (BODY[:size], "True")


async def test_tls_requests_reuse_one_tunnel_through_the_proxy(
    open_proxy: int, server_tls: ssl.SSLContext, authority_file: Path
) -> None:
    environ = {"all_proxy": f"127.0.0.1:{open_proxy}"}
    async with (
        raw_server(echo, tls=server_tls) as server,
        HttpClient(environ=environ, tls=settings(authority_file)) as client,
    ):
        request = HttpRequest(method="POST", url=server.url, body=BODY)
        answers = [(await client.request(request)).body for _ in range(3)]

    assert answers == [BODY] * 3
    assert server.connections == 1


async def test_a_proxy_with_a_password_accepts_the_configured_credentials(
    guarded_proxy: int, server_tls: ssl.SSLContext, authority_file: Path
) -> None:
    proxy = f"http://user:p%40ss@127.0.0.1:{guarded_proxy}"
    async with (
        raw_server(echo) as plain,
        raw_server(echo, tls=server_tls) as secure,
        HttpClient(environ={}, proxy=proxy, tls=settings(authority_file)) as client,
    ):
        for server in (plain, secure):
            answer = await client.request(HttpRequest(method="POST", url=server.url, body=b"hi"))
            assert (answer.status, answer.body) == (200, b"hi")


@pytest.mark.parametrize("credentials", ["", "user:wrong@"])
async def test_a_proxy_with_a_password_rejects_missing_or_wrong_credentials(
    guarded_proxy: int, credentials: str
) -> None:
    proxy = f"http://{credentials}127.0.0.1:{guarded_proxy}"
    async with (
        raw_server(answering(ok(b"never"))) as server,
        HttpClient(environ={}, proxy=proxy) as client,
    ):
        for scheme in ("http", "https"):
            with pytest.raises(ProxyFailed, match="requires a user name and a password"):
                await client.request(HttpRequest(url=f"{scheme}://127.0.0.1:{server.port}/"))

    assert server.connections == 0


async def test_hosts_of_no_proxy_are_requested_without_the_proxy(open_proxy: int) -> None:
    environ = {"HTTP_PROXY": f"http://127.0.0.1:{open_proxy}", "NO_PROXY": "127.0.0.0/8"}
    async with raw_server(echo) as server, HttpClient(environ=environ) as client:
        answer = await client.request(HttpRequest(url=server.url))

    assert answer.headers.get("x-proxied") == "False"


async def test_a_server_unreachable_for_the_proxy_raises(open_proxy: int, closed_port: int) -> None:
    async with HttpClient(environ={}, proxy=f"127.0.0.1:{open_proxy}") as client:
        with pytest.raises(ConnectFailed):
            await client.request(HttpRequest(url=f"https://127.0.0.1:{closed_port}/"))
