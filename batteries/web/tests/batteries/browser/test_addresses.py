"""The address policy holds for everything that a page does, in real Chromium and in the proxy."""

from __future__ import annotations

import asyncio
import socket
from asyncio.selector_events import BaseSelectorEventLoop
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from pi.ai.http.tcp import open_stream
from pi.batteries.browser.adapter import check_url
from pi.batteries.browser.chromium import check_host
from pi.coding.extension_host.filtering_proxy import (
    BadProxyRequest,
    FilteringProxy,
    forwarded_head,
    parse_request,
)
from pi.coding.extension_host.scope import Scope
from pi.extension import HttpError, ToolFailed
from pi.extension.guards import AddressPolicy
from pi.testing import FakeClock
from tests.batteries.browser.browser_session import HTML, browse, needs_chromium
from tests.coding.extension_host.extension_session import FakeUI
from tests.coding.web_site import web_site

SECRET = "the-secret-of-this-machine"


def rebinding(monkeypatch: pytest.MonkeyPatch, **names: tuple[str, ...]) -> None:
    """Names that resolve to these addresses in turn; the last one repeats."""
    resolve = socket.getaddrinfo
    answers = {f"{name}.example".encode(): list(addresses) for name, addresses in names.items()}

    def look_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host not in answers:
            return resolve(host, port, *rest, **more)
        if more.get("flags"):
            raise socket.gaierror("not a literal address")
        addresses = answers[host]
        address = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def send(proxy: FilteringProxy, data: bytes) -> bytes:
    token = b64encode(f"pi:{proxy.token}".encode())
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    head, end, rest = data.partition(b"\r\n\r\n")
    writer.write(head + b"\r\nProxy-Authorization: Basic " + token + end + rest)
    answer = await reader.read()
    writer.close()
    return answer


async def through_proxy(policy: AddressPolicy, *requests: bytes) -> list[bytes]:
    scope = Scope(FakeClock(), name="proxy", report=lambda location, error: None)
    proxy = FilteringProxy(scope, lambda h, p: open_stream(h, p, policy=policy, seconds=5))
    try:
        await proxy.open()
        return [await send(proxy, request) for request in requests]
    finally:
        await scope.close()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"),
        *("2130706433", "0x7f.1", "017700000001", "169.254.169.254", "[fe80::1]", "10.0.0.1"),
        *("[::ffff:169.254.169.254]", "192.168.1.1", "100.100.100.200", "127.1"),
    ],
)
async def test_the_proxy_refuses_addresses_of_this_machine_and_its_networks(host: str) -> None:
    async with web_site({"/": ("text/plain", SECRET.encode())}) as site:
        plain = f"GET http://{host}:{site.port}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        tunnel = f"CONNECT {host}:{site.port} HTTP/1.1\r\n\r\n".encode()
        answers = await through_proxy(AddressPolicy(), plain, tunnel)

    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 403 Forbidden"] * 2
    assert site.requests == []


async def test_the_proxy_forwards_to_allowed_hosts_one_request_per_connection() -> None:
    async with web_site({"/a?b": ("text/plain", b"hello")}) as site:
        named = f"127.0.0.1:{site.port}"
        plain = (
            f"GET http://{named}/a?b HTTP/1.1\r\nHost: {named}\r\nProxy-Connection: keep-alive"
            "\r\n\r\n"
        ).encode()
        tunnel = f"CONNECT {named} HTTP/1.1\r\n\r\nGET /a?b HTTP/1.1\r\n\r\n".encode()
        forwarded, tunnelled = await through_proxy(
            AddressPolicy(allow_hosts=(named,)), plain, tunnel
        )

    assert forwarded.endswith(b"\r\nConnection: close\r\n\r\nhello")
    assert tunnelled.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 X")
    assert "proxy-connection" not in site.requests[0][1]


async def test_a_host_that_rebinds_to_this_machine_is_rejected_by_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rebinding(monkeypatch, rebind=("10.1.1.1", "127.0.0.1"), local=("127.0.0.1",))
    async with web_site({"/": ("text/plain", SECRET.encode())}) as site:
        requests = [
            f"GET http://{name}.example:{site.port}/ HTTP/1.1\r\n\r\n".encode()
            for name in ("local", "rebind", "rebind")
        ]
        answers = await through_proxy(AddressPolicy(), *requests)

    assert all(answer.startswith(b"HTTP/1.1 403") for answer in answers)
    assert site.requests == []


@pytest.mark.parametrize(
    "line",
    [
        *("GET / HTTP/1.1", "GET ftp://a/ HTTP/1.1", "CONNECT a:99999 HTTP/1.1", "CONNECT [::1 x"),
        *("GET http://a b:1/ HTTP/1.1", "", "GET"),
    ],
)
def test_an_invalid_proxy_request_is_rejected(line: str) -> None:
    with pytest.raises(BadProxyRequest):
        parse_request(f"{line}\r\n\r\n".encode())


@pytest.mark.parametrize("host", ["update.googleapis.com", "gaia.invalid"])
def test_hosts_that_chromium_contacts_for_itself_are_refused(host: str) -> None:
    with pytest.raises(HttpError):
        check_host(host)


@pytest.mark.parametrize(
    "credentials",
    ["", "Proxy-Authorization: Basic cGk6\r\n", "Proxy-Authorization: Basic cGk6d3Jvbmc=\r\n",
     "Proxy-Authorization: Bearer TOKEN\r\n", "Authorization: Basic TOKEN\r\n"],
)  # fmt: skip
async def test_other_programs_of_this_machine_cannot_use_the_proxy(credentials: str) -> None:
    async with web_site({"/": ("text/plain", SECRET.encode())}) as site:
        named = f"127.0.0.1:{site.port}"
        policy = AddressPolicy(allow_hosts=(named,))
        scope = Scope(FakeClock(), name="proxy", report=lambda location, error: None)
        proxy = FilteringProxy(scope, lambda h, p: open_stream(h, p, policy=policy, seconds=5))
        await proxy.open()
        answers = []
        for line in (f"GET http://{named}/ HTTP/1.1", f"CONNECT {named} HTTP/1.1"):
            token = b64encode(f"pi:{proxy.token}".encode()).decode()
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            head = f"{line}\r\n{credentials.replace('TOKEN', token)}\r\n"
            writer.write(head.encode())
            answers.append(await reader.read())
            writer.close()
        await scope.close()

    assert all(answer.startswith(b"HTTP/1.1 407 ") for answer in answers)
    assert site.requests == []


def test_credentials_in_an_address_do_not_hide_its_host() -> None:
    request = parse_request(b"GET http://good.example@127.0.0.1:8/x HTTP/1.1\r\nA: b\r\n\r\n")

    assert (request.host, request.port, request.path) == ("127.0.0.1", 8, "/x")
    assert forwarded_head(b"GET http://a/x HTTP/1.1\r\nA: b\r\n\r\n", request) == (
        b"GET /x HTTP/1.1\r\nA: b\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "chrome://settings", "javascript:1", "data:text/html,x", ""),
        *("http://", "view-source:http://a/", "http://[::1"),
    ],
)
def test_only_http_urls_are_opened(url: str) -> None:
    with pytest.raises(ToolFailed, match="cannot be opened"):
        check_url(url)


HOSTILE = """<!doctype html><title>hostile</title><p id=out>waiting</p>
<iframe src="http://127.0.0.1:{port}/frame"></iframe><img src="http://localhost:{port}/image">
<script>
(async () => {{
  const found = [];
  for (const url of ["http://127.0.0.1:{port}/fetch", "http://[::1]:{port}/six",
    "http://169.254.169.254/latest", "http://local.example:{port}/name",
    "http://rebind.example:{port}/again", "/redirect"]) {{
    try {{ found.push(await (await fetch(url, {{mode: "cors"}})).text()); }}
    catch (error) {{ found.push("failed"); }}
    try {{ await fetch(url, {{mode: "no-cors"}}); }} catch (error) {{}}
  }}
  await new Promise(done => {{ const socket = new WebSocket("ws://127.0.0.1:{port}/socket");
    socket.onerror = socket.onopen = done; }});
  try {{ new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{port}"}}]}}); }} catch {{}}
  out.textContent = "ended " + found.join("|");
}})();
</script>"""


@needs_chromium
@pytest.mark.full
async def test_no_part_of_a_page_reaches_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebinding(monkeypatch, local=("127.0.0.1",), rebind=("10.1.1.1", "127.0.0.1"))
    async with web_site({}) as secret, web_site({}) as site:
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/plain"}
        for path in ("frame", "image", "fetch", "six", "name", "again", "socket"):
            secret.pages[f"/{path}"] = (200, headers, SECRET.encode())
        site.pages["/"] = (HTML, HOSTILE.format(port=secret.port).encode())
        target = f"http://127.0.0.1:{secret.port}/fetch"
        site.pages["/redirect"] = (302, {"Location": target}, b"")
        texts = await browse(
            tmp_path,
            {"action": "open", "url": f"http://localhost:{site.port}/"},
            {"action": "wait", "text": "ended"},
            {"action": "open", "url": f"http://localhost:{site.port}/redirect"},
            {"action": "open", "url": target},
            {"action": "open", "url": f"http://local.example:{secret.port}/name"},
            {"action": "open", "url": "https://169.254.169.254/latest/meta-data/"},
            {"action": "evaluate", "script": "location.href = 'file:///etc/passwd'; 1"},
            {"action": "tree"},
            allow=(f"localhost:{site.port}",),
        )

    assert secret.requests == []
    assert SECRET not in "".join(texts) and "root:" not in "".join(texts)
    assert "Refused: 127.0.0.1 is not allowed: it is this machine." in texts[0] + texts[1]
    assert all(text.startswith("! ") and "is not allowed" in text for text in texts[2:6])


@needs_chromium
@pytest.mark.full
async def test_the_user_may_refuse_a_private_network(tmp_path: Path) -> None:
    ui = FakeUI(agrees=False)
    (text,) = await browse(tmp_path, {"action": "open", "url": "http://10.9.9.9/"}, ui=ui)

    assert ui.seen.count(("confirm", *PRIVATE)) == 1
    assert "10.9.9.9 is not allowed: it is in a private network." in text


PRIVATE = ("Open pages of a private network?", "The model wants to open 10.9.9.9:80.")


@needs_chromium
@pytest.mark.full
async def test_the_user_may_allow_a_private_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consent is for one host and port; another port needs its own."""
    ui = FakeUI(agrees=True)
    async with web_site({"/": (HTML, b"<title>Inside</title><h1>Inside</h1>")}) as site:
        connect = BaseSelectorEventLoop.sock_connect

        async def to_site(self: Any, opened: socket.socket, target: Any) -> None:
            """Connections to the private address end at the site."""
            site_address = ("127.0.0.1", site.port)
            await connect(self, opened, site_address if target[0] == "10.9.9.9" else target)

        monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", to_site)
        texts = await browse(
            tmp_path,
            {"action": "open", "url": "http://10.9.9.9/"},
            {"action": "open", "url": "http://10.9.9.9/"},
            {"action": "open", "url": "http://10.9.9.9:81/"},
            ui=ui,
        )

    assert ["Inside" in text for text in texts] == [True] * 3
    questions = [call[2] for call in ui.seen if call[0] == "confirm"]
    assert questions == [PRIVATE[1], PRIVATE[1].replace(":80", ":81")]
