from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import BadResponse, ConnectFailed, InvalidRequest, ProxyFailed
from pi.ai.http.exchange import HttpResponse
from pi.ai.http.request import HttpRequest
from pi.ai.http.response_parser import Headers
from pi.ai.http.tls import TlsSettings
from tests.ai.http.raw_server import OK_EMPTY, Peer, answering, ok, raw_server


async def test_a_request_returns_status_headers_and_body(client: HttpClient) -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(b'HTTP/1.1 418 Teapot\r\nX: 1\r\nContent-Length: 7\r\n\r\n{"a":1}')
        await peer.gone()

    async with raw_server(script) as server:
        response = await client.request(
            HttpRequest(method="POST", url=server.url, headers=(("A", "b"),), body=b"hello")
        )

    assert response == HttpResponse(
        status=418,
        headers=Headers([("X", "1"), ("Content-Length", "7")]),
        body=b'{"a":1}',
        url=server.url,
    )
    assert response.json() == {"a": 1}
    host = server.url.removeprefix("http://").rstrip("/")
    assert seen == [
        f"POST / HTTP/1.1\r\nHost: {host}\r\nA: b\r\nAccept-Encoding: identity\r\n"
        "Content-Length: 5\r\n\r\nhello".encode()
    ]


async def test_a_head_request_reads_no_body(client: HttpClient) -> None:
    promising = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 99\r\n\r\n"
    async with raw_server(answering(promising, ok(b"next"))) as server:
        head = await client.request(HttpRequest(method="HEAD", url=server.url))
        after = await client.request(HttpRequest(url=server.url))

    assert (head.status, head.body, after.body) == (200, b"", b"next")
    assert server.connections == 1


async def test_redirects_are_followed_only_on_request_and_up_to_a_limit(
    client: HttpClient,
) -> None:
    away = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 4\r\n\r\naway"
    async with raw_server(answering(away, away, ok(b"here"), away, away)) as server:
        followed = await client.request(HttpRequest(url=server.url, redirects=5))
        plain = await client.request(HttpRequest(url=server.url))
        exhausted = await client.request(HttpRequest(url=server.url, redirects=0))

    assert (followed.status, followed.body) == (200, b"here")
    assert (plain.status, exhausted.status) == (302, 302)
    assert server.connections == 1


async def test_an_unsupported_redirect_raises_and_leaves_no_socket(client: HttpClient) -> None:
    away = b"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n"
    async with raw_server(answering(away)) as server:
        with pytest.raises(BadResponse):
            await client.request(HttpRequest(url=server.url, redirects=1))


async def test_a_body_larger_than_the_limit_raises(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"12345"), ok(b"12345"))) as server:
        assert (await client.request(HttpRequest(url=server.url), limit=5)).body == b"12345"
        with pytest.raises(BadResponse):
            await client.request(HttpRequest(url=server.url), limit=4)


async def test_a_closed_client_can_be_used_again(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"one")), answering(ok(b"two"))) as server:
        await client.request(HttpRequest(url=server.url))
        await client.close()
        assert (await client.request(HttpRequest(url=server.url))).body == b"two"


def test_a_client_can_be_used_in_one_event_loop_after_another() -> None:
    client = HttpClient(environ={})

    async def ask() -> bytes:
        async with raw_server(answering(ok(b"x"))) as server:
            answer = (await client.request(HttpRequest(url=server.url))).body
            await client.close()
            return answer

    assert asyncio.run(ask()) == asyncio.run(ask()) == b"x"


async def test_a_plain_request_is_sent_to_the_proxy_with_the_absolute_url() -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        for _ in range(2):
            seen.append(await peer.request())
            await peer.send(ok(b"from the proxy"))
        await peer.gone()

    async with raw_server(script) as proxy:
        environ = {"http_proxy": f"http://u:p@127.0.0.1:{proxy.port}"}
        async with HttpClient(environ=environ) as client:
            for _ in range(2):
                await client.request(HttpRequest(url="http://far.example:81/x?y"))

    assert seen == 2 * [
        b"GET http://far.example:81/x?y HTTP/1.1\r\nHost: far.example:81\r\n"
        b"Proxy-Authorization: Basic dTpw\r\nAccept-Encoding: identity\r\n\r\n"
    ]
    assert proxy.connections == 1


async def test_a_proxy_that_requires_a_password_for_a_plain_request_raises() -> None:
    refusing = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with (
        raw_server(answering(refusing)) as proxy,
        HttpClient(environ={}, proxy=f"127.0.0.1:{proxy.port}") as client,
    ):
        with pytest.raises(ProxyFailed) as caught:
            await client.request(HttpRequest(url="http://far.example/"))

    assert str(caught.value) == (
        f"The proxy 127.0.0.1:{proxy.port} requires a user name and a password "
        "to connect to far.example:80."
    )


async def test_the_no_proxy_variable_is_respected() -> None:
    async with raw_server(answering(ok(b"direct"))) as server:
        environ = {"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
        async with HttpClient(environ=environ) as client:
            assert (await client.request(HttpRequest(url=server.url))).body == b"direct"


async def test_a_refused_connection_raises_a_retryable_error_with_the_host(
    client: HttpClient, closed_port: int
) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await client.request(HttpRequest(url=f"http://127.0.0.1:{closed_port}/"))

    assert str(caught.value) == f"Cannot connect to 127.0.0.1:{closed_port}: Connection refused."
    assert caught.value.retryable


@pytest.mark.parametrize(
    "spoil",
    [
        lambda url: HttpRequest(url=f"{url}\r\nX: y"),
        lambda url: HttpRequest(url=url, headers=(("X", "y\r\nEvil: 1"),)),
        lambda url: HttpRequest(url=url, method="GET\r\n"),
    ],
)
async def test_a_request_with_line_breaks_is_rejected_before_connecting(
    client: HttpClient, spoil: Callable[[str], HttpRequest]
) -> None:
    async with raw_server(answering(OK_EMPTY)) as server:
        with pytest.raises(InvalidRequest):
            await client.request(spoil(server.url))

    assert server.connections == 0


def test_invalid_client_settings_raise_only_at_the_first_request() -> None:
    client = HttpClient(environ={"HTTPS_PROXY": "socks5://p"}, tls=TlsSettings(extra_ca="/none"))

    with pytest.raises(ProxyFailed):
        asyncio.run(client.request(HttpRequest(url="https://a.example/")))


def test_importing_the_client_imports_no_slow_modules() -> None:
    code = (
        "import sys, asyncio, msgspec; before = set(sys.modules)\n"
        "import pi.ai.http.client; print(*set(sys.modules) - before)"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "httptools" in loaded
    assert not {"urllib.parse", "pathlib", "ipaddress", "tempfile", "http.client"} & set(loaded)
