from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import (
    ConnectFailed,
    ConnectionLost,
    HttpError,
    ProxyFailed,
    TimedOut,
    TlsFailed,
)
from pi.ai.http.request import NO_TIMEOUTS, HttpRequest, Timeouts
from pi.ai.http.tls import TlsSettings
from tests.ai.http.raw_server import OK_EMPTY, Peer, answering, ok, raw_server, splitting

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def test_the_next_address_is_tried_while_the_first_is_slow(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"hi"))) as server:
        loop = asyncio.get_running_loop()
        resolve = loop.getaddrinfo

        async def two_addresses(host: bytes, port: int, **options: Any) -> Any:
            if host != b"both.example":
                return await resolve(host, port, **options)
            stream = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
            return [
                (socket.AF_INET6, *stream, ("100::1", port, 0, 0)),  # the discard prefix
                (socket.AF_INET, *stream, ("127.0.0.1", port)),
            ]

        loop.getaddrinfo = two_addresses  # type: ignore[method-assign,assignment]
        answer = await client.request(HttpRequest(url=f"http://both.example:{server.port}/"))

    assert answer.body == b"hi"


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
async def test_an_ipv6_literal_is_connected_and_its_host_header_has_brackets(
    client: HttpClient,
) -> None:
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(ok(b"six"))
        await peer.gone()

    async with raw_server(script, host="::1") as server:
        answer = await client.request(HttpRequest(url=f"http://[::1]:{server.port}/"))

    assert answer.body == b"six"
    assert f"Host: [::1]:{server.port}\r\n".encode() in seen[0]


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".example", "a..b"])
async def test_a_name_that_cannot_be_resolved_is_retryable(client: HttpClient, host: str) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await client.request(HttpRequest(url=f"http://{host}/"))

    assert str(caught.value).startswith(f"Cannot connect to {host}:80: ")
    assert caught.value.retryable


async def test_a_tls_handshake_without_a_response_ends_with_the_connect_timeout(
    client: HttpClient,
) -> None:
    async def silent(peer: Peer) -> None:
        await peer.gone()

    async with raw_server(silent) as server:
        request = HttpRequest(
            url=f"https://127.0.0.1:{server.port}/", timeouts=Timeouts(connect=0.2)
        )
        with pytest.raises(TimedOut) as caught:
            await client.request(request)

    assert caught.value.kind == "connect"
    assert str(caught.value) == f"Connecting to 127.0.0.1:{server.port} took longer than 0.2 s."


async def test_cancelling_a_handshake_closes_the_socket(client: HttpClient) -> None:
    greeted, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        greeted.set()
        await peer.gone()
        closed.set()

    async with raw_server(script) as server:
        url = f"https://127.0.0.1:{server.port}/"
        task = asyncio.create_task(client.request(HttpRequest(url=url)))
        await greeted.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 30)


async def test_a_configured_private_authority_is_trusted(
    tls_client: HttpClient, server_tls: ssl.SSLContext
) -> None:
    async with raw_server(answering(ok(b"one"), ok(b"two")), tls=server_tls) as server:
        bodies = [(await tls_client.request(HttpRequest(url=server.url))).body for _ in range(2)]

    assert bodies == [b"one", b"two"]
    assert server.connections == 1


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
@pytest.mark.parametrize("inline", [False, True])
async def test_an_authority_from_the_environment_is_trusted(
    server_tls: ssl.SSLContext, authority_file: Path, variable: str, inline: bool
) -> None:
    pem = authority_file.read_text().replace("\n", "\\n")
    environ = {variable: pem if inline else str(authority_file)}
    async with (
        raw_server(answering(ok(b"hi")), tls=server_tls) as server,
        HttpClient(environ=environ) as client,
    ):
        assert (await client.request(HttpRequest(url=server.url))).body == b"hi"


async def test_an_unknown_authority_is_rejected_with_a_hint(
    client: HttpClient, server_tls: ssl.SSLContext
) -> None:
    async with raw_server(answering(ok(b"hi")), tls=server_tls) as server:
        with pytest.raises(TlsFailed) as caught:
            await client.request(HttpRequest(url=server.url))

    assert str(caught.value).startswith(
        f"The certificate of 127.0.0.1:{server.port} is not trusted: "
    )
    assert "NODE_EXTRA_CA_CERTS" in caught.value.hint
    assert not caught.value.retryable


async def test_a_certificate_for_another_name_is_refused(
    tls_client: HttpClient, authority: trustme.CA
) -> None:
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example").configure_cert(other)
    async with raw_server(answering(ok(b"hi")), tls=other) as server:
        with pytest.raises(TlsFailed):
            await tls_client.request(HttpRequest(url=server.url))


async def test_the_host_name_is_sent_with_sni(
    tls_client: HttpClient, server_tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    async with raw_server(answering(OK_EMPTY), tls=context) as server:
        await tls_client.request(HttpRequest(url=f"https://localhost:{server.port}/"))

    assert names == ["localhost"]


async def test_plain_http_behind_an_https_url_is_a_tls_error(client: HttpClient) -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.gone()

    async with raw_server(script) as server:
        with pytest.raises(TlsFailed):
            await client.request(HttpRequest(url=f"https://127.0.0.1:{server.port}/"))


async def test_a_handshake_that_is_interrupted_is_retryable(client: HttpClient) -> None:
    async def hangs_up(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.hang_up()

    async def resets(peer: Peer) -> None:
        await peer.reader.read(1)
        peer.reset()

    async with raw_server(hangs_up, resets) as server:
        for _ in range(2):
            with pytest.raises(HttpError) as caught:
                await client.request(HttpRequest(url=f"https://127.0.0.1:{server.port}/"))
            assert caught.value.retryable


@pytest.fixture
def demanding_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize("form", ["one file", "two files", "text"])
async def test_a_configured_client_certificate_is_sent(
    demanding_tls: ssl.SSLContext,
    authority: trustme.CA,
    authority_file: Path,
    tmp_path: Path,
    form: str,
) -> None:
    ours = authority.issue_cert("us@example.com")
    chain, key, both = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "both.pem"
    ours.cert_chain_pems[0].write_to_path(chain)
    ours.private_key_pem.write_to_path(key)
    ours.private_key_and_cert_chain_pem.write_to_path(both)
    certificate, private_key = {
        "one file": (str(both), ""),
        "two files": (str(chain), str(key)),
        "text": (chain.read_text(), key.read_text().replace("\n", "\\n")),
    }[form]
    tls = TlsSettings(
        extra_ca=str(authority_file), client_certificate=certificate, client_key=private_key
    )
    async with (
        raw_server(answering(ok(b"known")), tls=demanding_tls) as server,
        HttpClient(environ={}, tls=tls) as client,
    ):
        assert (await client.request(HttpRequest(url=server.url))).body == b"known"


def refuse_one_client(listening: socket.socket, context: ssl.SSLContext) -> None:
    """Do the handshake with OpenSSL: asyncio's own server would close without an alert."""
    connected, _ = listening.accept()
    with context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False) as secured:
        with pytest.raises(ssl.SSLError):
            secured.do_handshake()
        while socket.socket.recv(secured, 65536):
            pass  # closing with unread bytes would be a reset, which overtakes the alert


async def test_a_missing_client_certificate_raises_an_error_that_is_not_retryable(
    demanding_tls: ssl.SSLContext, tls_client: HttpClient
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        refusing = asyncio.create_task(
            asyncio.to_thread(refuse_one_client, listening, demanding_tls)
        )
        port = listening.getsockname()[1]
        with pytest.raises(TlsFailed) as caught:
            await tls_client.request(HttpRequest(url=f"https://127.0.0.1:{port}/"))
        await refusing

    assert str(caught.value) == (
        f"TLS with 127.0.0.1:{port} failed: tlsv13 alert certificate required."
    )
    assert not caught.value.retryable


def tunnel_to(port: int, log: list[bytes]) -> Any:
    """A script that is a proxy: it opens one tunnel and copies both ways."""

    async def script(peer: Peer) -> None:
        log.append(await peer.request())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await peer.send(ESTABLISHED)

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)

        try:
            await asyncio.gather(copy(peer.reader, writer), copy(reader, peer.writer))
        finally:
            writer.transport.abort()

    return script


@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
async def test_https_requests_use_a_tunnel_through_the_proxy(
    server_tls: ssl.SSLContext, authority_file: Path, proxy_scheme: str
) -> None:
    log: list[bytes] = []
    proxy_tls = server_tls if proxy_scheme == "https" else None
    async with (
        raw_server(answering(ok(b"one"), ok(b"two")), tls=server_tls) as server,
        raw_server(tunnel_to(server.port, log), tls=proxy_tls) as proxy,
        HttpClient(
            environ={},
            proxy=f"{proxy_scheme}://u:p@127.0.0.1:{proxy.port}",
            tls=TlsSettings(extra_ca=str(authority_file)),
        ) as client,
    ):
        url = f"https://localhost:{server.port}/"
        bodies = [(await client.request(HttpRequest(url=url))).body for _ in range(2)]

    assert bodies == [b"one", b"two"]
    target = f"localhost:{server.port}"
    assert log == [
        f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
        "Proxy-Authorization: Basic dTpw\r\n\r\n".encode()
    ]


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno", ProxyFailed, "requires a user name"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", ProxyFailed, "refuses to connect"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", ConnectFailed, "cannot reach far.example:443"),
        (b"", ConnectionLost, "did not answer"),
    ],
)
async def test_a_proxy_that_opens_no_tunnel_is_named_in_the_error(
    answer: bytes, error: type[HttpError], words: str
) -> None:
    async with (
        raw_server(splitting(answer)) as proxy,
        HttpClient(environ={"https_proxy": f"127.0.0.1:{proxy.port}"}) as client,
    ):
        with pytest.raises(error) as caught:
            await client.request(HttpRequest(url="https://far.example/"))

    assert words in str(caught.value)
    assert f"roxy 127.0.0.1:{proxy.port}" in str(caught.value)


async def test_an_unreachable_proxy_is_named_in_the_error(closed_port: int) -> None:
    async with HttpClient(environ={}, proxy=f"127.0.0.1:{closed_port}") as client:
        with pytest.raises(ConnectFailed) as caught:
            await client.request(HttpRequest(url="https://far.example/"))

    assert str(caught.value) == (
        f"Cannot connect to proxy 127.0.0.1:{closed_port}: Connection refused."
    )


async def test_a_tunnel_that_closes_immediately_raises_even_without_timeouts() -> None:
    async with (
        raw_server(splitting(ESTABLISHED)) as proxy,
        HttpClient(environ={}, proxy=f"127.0.0.1:{proxy.port}", timeouts=NO_TIMEOUTS) as client,
    ):
        with pytest.raises(HttpError) as caught:
            await client.request(HttpRequest(url="https://far.example/"))

    assert caught.value.retryable
    assert "far.example:443" in str(caught.value)
