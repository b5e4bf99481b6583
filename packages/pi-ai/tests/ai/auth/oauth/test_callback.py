from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.oauth.loopback import MOST_IDLE, CallbackListener
from pi.ai.http.client import HttpClient
from pi.ai.http.exchange import HttpResponse
from pi.ai.http.request import HttpRequest


async def visit(
    http: HttpClient, listener: CallbackListener, query: str, method: str = "GET"
) -> HttpResponse:
    url = f"{listener.redirect_uri}{query}"
    return await http.request(HttpRequest(url=url, method=method))


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.behaviour("callback-listener-is-strict")
async def test_a_request_with_a_wrong_state_is_rejected_and_a_later_correct_one_accepted(
    http: HttpClient,
) -> None:
    async with CallbackListener(path="/callback", state="right") as listener:
        refused = [
            await visit(http, listener, "?code=evil&state=wrong"),
            await visit(http, listener, "?code=evil"),
            await visit(http, listener, "?error=access_denied&state=wrong"),
            await visit(http, listener, "/other?code=evil&state=right"),
            await visit(http, listener, "?state=right"),
            await visit(http, listener, "?code=evil&state=right", "POST"),
        ]
        accepted = await visit(http, listener, "?code=good&state=right")
        again = await visit(http, listener, "?code=late&state=right")

        assert await listener.code() == "good"

    assert [response.status for response in refused] == [400, 400, 400, 404, 400, 405]
    assert (accepted.status, again.status) == (200, 200)
    assert "go back to pi" in accepted.text
    assert accepted.headers.get("content-security-policy").startswith("default-src 'none'")


async def test_a_denied_authorization_is_shown_in_the_browser_and_raised(http: HttpClient) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        page = await visit(
            http, listener, "?error=access_denied&error_description=%3Cb%3ENo%3C/b%3E&state=s"
        )
        with pytest.raises(LoginFailed, match="The login was refused: <b>No</b>"):
            await listener.code()

    assert "refused: &lt;b&gt;No&lt;/b&gt;" in page.text


@pytest.mark.behaviour("callback-listener-is-strict")
async def test_only_loopback_is_bound_on_ipv4_and_on_ipv6_if_available() -> None:
    async with CallbackListener(path="/", state="s") as listener:
        bound = {sock.getsockname()[:2] for server in listener._servers for sock in server.sockets}
        port = int(listener.redirect_uri.split(":")[2].rstrip("/"))

    expected = {("127.0.0.1", port)} | ({("::1", port)} if has_ipv6() else set())
    assert bound == expected


@pytest.mark.behaviour("callback-listener-is-strict")
async def test_the_listener_works_with_ipv6_disabled(
    http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = socket.create_server

    def without_ipv6(address: tuple[str, int], **options: int) -> socket.socket:
        if ":" in address[0]:
            raise OSError(97, "Address family not supported by protocol")
        return create(address, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_server", without_ipv6)
    async with CallbackListener(path="/callback", state="s") as listener:
        await visit(http, listener, "?code=c&state=s")
        assert await listener.code() == "c"


async def test_a_listener_on_a_port_in_use_is_not_listening_and_receives_no_code() -> None:
    async with (
        CallbackListener(path="/callback", state="s") as first,
        CallbackListener(path="/callback", state="s", port=first._port) as second,
    ):
        assert (first.listening, second.listening) == (True, False)
        assert second.redirect_uri == first.redirect_uri
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await second.code()


async def test_the_port_is_free_again_even_if_a_client_is_still_connected() -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener._port)
        writer.write(b"GET /callback")
        await writer.drain()
        async with CallbackListener(path="/", state="s") as other:
            assert other.listening

    assert await reader.read() == b""
    writer.close()
    async with CallbackListener(path="/callback", state="s", port=listener._port) as next_one:
        assert next_one.listening


async def test_idle_connections_neither_delay_closing_nor_print_tracebacks() -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    async with asyncio.timeout(5), CallbackListener(path="/callback", state="s") as listener:
        idle = [await asyncio.open_connection("127.0.0.1", listener._port) for _ in range(5)]
        await asyncio.sleep(0)  # some handlers have begun, some have not
    for reader, writer in idle:
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()

    assert reported == []


async def test_the_number_of_idle_connections_is_limited(
    http: HttpClient,
) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        idle = [
            await asyncio.open_connection("127.0.0.1", listener._port)
            for _ in range(MOST_IDLE + 20)
        ]
        for reader, _ in idle[:20]:  # the oldest make room
            with suppress(ConnectionError):
                assert await reader.read() == b""

        accepted = await visit(http, listener, "?code=c&state=s")
        assert (accepted.status, await listener.code()) == (200, "c")
    for _, writer in idle:
        writer.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("evil.example:80", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:1", 421),
        ("", 421),
        ("127.0.0.1:1", 200),
        ("[::1]:1", 200),
        ("[::1]", 200),
        ("LOCALHOST", 200),
    ],
)
async def test_a_request_for_a_foreign_host_name_is_rejected(host: str, status: int) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener._port)
        writer.write(f"GET /callback?code=c&state=s HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()

        assert answer.split()[1] == str(status).encode()
        assert listener._code.done() == (status == 200)


@pytest.mark.parametrize(
    "noise", [b"\r\n\r\n", b"x" * 50_000, b"\x16\x03\x01\r\n\r\n", b"GET //[ \r\n\r\n", b""]
)
async def test_malformed_requests_do_not_stop_the_listener(http: HttpClient, noise: bytes) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener._port)
        writer.write(noise)
        writer.write_eof()
        await reader.read()
        writer.close()
        await visit(http, listener, "?code=c&state=s")

        assert await listener.code() == "c"


async def test_a_listener_without_a_state_accepts_a_code_on_its_secret_path(
    http: HttpClient,
) -> None:
    async with CallbackListener(path="/callback/secret", state=None) as listener:
        await visit(http, listener, "?code=c")

        assert await listener.code() == "c"


async def test_the_browser_receives_its_page_after_the_code_was_returned(
    http: HttpClient,
) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        page = asyncio.create_task(visit(http, listener, "?code=c&state=s"))
        await listener.code()

    assert "go back to pi" in (await page).text


@pytest.mark.parametrize(
    "fields",
    ["", "Accept: */*\r\n", "Host: localhost\r\nHost: evil.example\r\n"],
    ids=["none", "another field only", "two"],
)
async def test_a_request_without_exactly_one_host_header_is_rejected(fields: str) -> None:
    async with CallbackListener(path="/callback", state="s") as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener._port)
        writer.write(f"GET /callback?code=c&state=s HTTP/1.1\r\n{fields}\r\n".encode())
        answer = await reader.read()
        writer.close()

        assert answer.split()[1] == b"421"
        assert not listener._code.done()
