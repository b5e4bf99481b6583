from __future__ import annotations

import pytest

from pi.ai.http.addresses import AddressPolicy, AddressRefused, address_kind
from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import Peer, ok, raw_server

STRICT = AddressPolicy()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("93.184.216.34", "public"),
        ("2606:2800:220:1:248:1893:25c8:1946", "public"),
        ("127.0.0.1", "loopback"),
        ("127.200.3.4", "loopback"),
        ("0.0.0.0", "loopback"),
        ("0.1.2.3", "loopback"),
        ("::1", "loopback"),
        ("::", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:7f00:1", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a00:1", "private"),
        ("2002:7f00:1::", "loopback"),
        ("2002:a00:1::1", "private"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("172.32.0.1", "public"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "private"),
        ("fc00::1", "private"),
        ("fdab::1", "private"),
        ("fec0::1", "private"),
        ("::ffff:192.168.1.1", "private"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("::ffff:169.254.7.7", "link-local"),
        ("169.254.169.254", "metadata"),
        ("::ffff:169.254.169.254", "metadata"),
        ("::ffff:a9fe:a9fe", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("169.254.170.2", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("FD00:EC2:0::254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("224.0.0.1", "reserved"),
        ("ff02::1", "reserved"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("192.0.2.1", "reserved"),
        ("2001:db8::1", "reserved"),
        ("64:ff9b:1::7f00:1", "reserved"),
        ("64:ff9b:1:a9fe:a9:fe00:101:101", "reserved"),
        ("::ffff:0:127.0.0.1", "reserved"),
        ("5f00::1", "reserved"),
        ("not an address", "reserved"),
        ("", "reserved"),
    ],
)
def test_the_kind_of_an_address(address: str, kind: str) -> None:
    assert address_kind(address) == kind


def test_private_networks_and_named_hosts_can_be_allowed() -> None:
    policy = AddressPolicy(allow_private=True, allow_hosts=("localhost:3000", "box", "::1"))

    policy.check("intranet", 80, "10.0.0.1")
    policy.check("localhost", 3000, "127.0.0.1")
    policy.check("box", 99, "127.0.0.1")
    policy.check("::1", 99, "::1")
    for host, port, address in (
        ("localhost", 3001, "127.0.0.1"),
        ("other", 3000, "127.0.0.1"),
        ("other", 80, "169.254.1.1"),
        ("box", 99, "169.254.169.254"),
    ):
        with pytest.raises(AddressRefused):
            policy.check(host, port, address)


def test_a_refused_address_raises_with_the_reason_and_a_hint() -> None:
    with pytest.raises(AddressRefused) as refused:
        STRICT.check("intranet.example", 80, "10.0.0.1")

    assert refused.value.message == (
        "intranet.example (10.0.0.1) is not allowed: it is in a private network."
    )
    assert refused.value.hint == "Set web.allowPrivate, or add the host to web.allowHosts."
    assert refused.value.kind == "private"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0", "[::1]",
     "[::ffff:127.0.0.1]", "017700000001"],
)  # fmt: skip
async def test_every_spelling_of_the_loopback_address_is_refused(host: str) -> None:
    async def answer(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"secret"))

    async with raw_server(answer) as server, HttpClient(environ={}) as client:
        port = server.url.rpartition(":")[2].strip("/")
        request = HttpRequest(url=f"http://{host}:{port}/", addresses=STRICT)
        with pytest.raises(AddressRefused):
            await client.request(request)


async def test_a_redirect_is_checked_too() -> None:
    async def answer(peer: Peer) -> None:
        await peer.request()
        await peer.send(
            b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\n"
            b"Content-Length: 0\r\n\r\n"
        )

    async with raw_server(answer) as server, HttpClient(environ={}) as client:
        netloc = server.url.partition("//")[2].strip("/")
        policy = AddressPolicy(allow_hosts=(netloc,))
        request = HttpRequest(url=server.url, redirects=5, addresses=policy)
        with pytest.raises(AddressRefused, match="metadata service"):
            await client.request(request)


@pytest.mark.parametrize(("host", "origin"), [("localhost", "localhost:81"), ("::1", "[::1]:81")])
def test_a_refusal_names_the_host_and_the_port(host: str, origin: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        STRICT.check(host, 81, "::1")

    assert refused.value.origin == origin


async def test_a_pooled_connection_does_not_bypass_the_address_policy() -> None:
    async def answer(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"one"))
        await peer.request()
        await peer.send(ok(b"two"))

    async with raw_server(answer) as server, HttpClient(environ={}) as client:
        assert (await client.request(HttpRequest(url=server.url))).body == b"one"
        with pytest.raises(AddressRefused):
            await client.request(HttpRequest(url=server.url, addresses=STRICT))
        assert (await client.request(HttpRequest(url=server.url))).body == b"two"


async def test_behind_a_proxy_only_locally_resolvable_hosts_are_checked() -> None:
    async def answer(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"fetched"))

    async with raw_server(answer) as proxy, HttpClient(environ={}, proxy=proxy.url) as client:
        with pytest.raises(AddressRefused):
            await client.request(HttpRequest(url="http://localhost:1/", addresses=STRICT))
        unknown = HttpRequest(url="http://name.invalid/", addresses=STRICT)
        assert (await client.request(unknown)).body == b"fetched"
