"""URLs of a model reach only public hosts: notations, redirects, rebinding."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.batteries.web_pages.page_session import read_texts, reading
from tests.coding.extension_host.extension_session import FakeUI
from tests.coding.web_site import web_site

SECRET = b"a secret of this machine"

FORMS = [
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/?a=b",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0x7F.0x0.0x0.0x1:{port}/",
    "http://017700000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0177.0.0.01:{port}/",
    "http://127.000.000.001:{port}/",
    "http://127.255.255.254:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://user:password@127.0.0.1:{port}/",
    "http://public.example@127.0.0.1:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::ffff:0:127.0.0.1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[64:ff9b:1::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[fe80::1%25lo]:{port}/",
    "http://[fe80::1]:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/latest/",
    "http://[fd00:ec2::254]/latest/",
    "http://169.254.170.2/v2/credentials",
    "http://169.254.0.1:{port}/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://224.0.0.1:{port}/",
    "http://255.255.255.255:{port}/",
    "http://240.0.0.1:{port}/",
    "http://\u2460\u2461\u2466.0.0.1:{port}/",
    "http://\uff11\uff12\uff17.0.0.1:{port}/",
    "http://127\u30020\u30020\u30021:{port}/",
    "http://127.0.0.1\\@public.example:{port}/",
    "http://public.example:{port}\\@127.0.0.1:{port}/",
]
PRIVATE = ["http://10.0.0.1:{port}/", "http://172.16.0.1:{port}/", "http://192.168.0.1:{port}/",
           "http://100.64.0.1:{port}/", "http://[fd00::1]:{port}/"]  # fmt: skip


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records every connection that is attempted."""
    attempts: list[Any] = []

    async def refuse(self: asyncio.AbstractEventLoop, sock: socket.socket, address: Any) -> None:
        attempts.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    return attempts


async def test_no_notation_of_a_local_or_private_address_is_connected(
    tmp_path: Path, no_connections: list[Any]
) -> None:
    assert len(FORMS) + len(PRIVATE) >= 40
    urls = [form.format(port=9) for form in (*FORMS, *PRIVATE)]
    texts = await read_texts(tmp_path, *urls)

    assert no_connections == []
    text_by_url = dict(zip(urls, texts, strict=True))
    assert [url for url, text in text_by_url.items() if not text.startswith("! ")] == []


async def test_a_public_address_is_connected(tmp_path: Path, no_connections: list[Any]) -> None:
    await read_texts(tmp_path, "http://93.184.215.14:81/")

    assert no_connections == [("93.184.215.14", 81)]


async def test_only_an_allowed_host_and_port_is_read(tmp_path: Path) -> None:
    async with web_site({"/": ("text/plain", SECRET)}) as site:
        local = f"http://localhost:{site.port}/"
        texts = await read_texts(tmp_path, f"{site.url}/", local, allow=(f"127.0.0.1:{site.port}",))

    assert texts[0].endswith(SECRET.decode())
    assert texts[1].startswith("! ")
    assert "Add host:port to web.allowHosts" in texts[1]


async def test_metadata_services_cannot_be_allowed(
    tmp_path: Path, no_connections: list[Any]
) -> None:
    allow = ("169.254.169.254", "169.254.169.254:80")
    (text,) = await read_texts(
        tmp_path, "http://169.254.169.254/", allow=allow, web={"allowPrivate": True}
    )

    assert "metadata service" in text
    assert no_connections == []


async def test_redirects_are_checked_at_every_step(tmp_path: Path) -> None:
    async with web_site({"/": ("text/plain", SECRET)}) as inner:
        targets = {
            "/machine": inner.url,
            "/metadata": "http://169.254.169.254/latest/",
            "/decimal": f"http://2130706433:{inner.port}/",
            "/mapped": f"http://[::ffff:127.0.0.1]:{inner.port}/",
            "/file": "file:///etc/passwd",
            "/chain": "/chain2",
            "/chain2": f"//127.0.0.1:{inner.port}/",
            "/loop": "/loop",
        }
        pages = {path: (302, {"Location": to}, b"") for path, to in targets.items()}
        async with web_site(pages) as outer:
            urls = [f"{outer.url}{path}" for path in targets]
            texts = await read_texts(tmp_path, *urls, allow=(f"127.0.0.1:{outer.port}",))
        assert inner.requests == []
    assert [text[:2] for text in texts] == ["! "] * len(targets)


def resolver(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Resolve every name to these addresses in turn; the last one repeats."""
    names: list[str] = []
    plain = socket.getaddrinfo

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if not name.endswith(".example"):
            return plain(host, port, *rest, **more)
        if more.get("flags") == socket.AI_NUMERICHOST:
            raise socket.gaierror
        names.append(name)
        address = answers[min(len(names), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return names


async def test_a_name_is_resolved_once_and_the_checked_address_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_connections: list[Any]
) -> None:
    names = resolver(monkeypatch, "93.184.215.14", "127.0.0.1")
    await read_texts(tmp_path, "http://rebinding.example:82/")

    assert names == ["rebinding.example"]
    assert no_connections == [("93.184.215.14", 82)]


async def test_a_name_that_resolves_to_this_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_connections: list[Any]
) -> None:
    resolver(monkeypatch, "127.0.0.1")
    (text,) = await read_texts(tmp_path, "http://innocent.example/")

    assert "innocent.example (127.0.0.1) is not allowed" in text
    assert no_connections == []


async def test_the_user_may_allow_a_private_host_for_the_session(
    tmp_path: Path, no_connections: list[Any]
) -> None:
    ui = FakeUI()
    calls = ({"path": "http://10.0.0.1:81/a"}, {"path": "http://10.0.0.1:81/b"})
    async with reading(tmp_path, *calls, ui=ui) as hosted:
        await hosted.session.prompt("go")

    assert no_connections == [("10.0.0.1", 81)] * 2
    assert [kind for kind, *_ in ui.seen] == ["confirm"]


async def test_a_redirect_to_a_private_host_is_refused_without_a_question(tmp_path: Path) -> None:
    pages = {"/": (302, {"Location": "http://10.0.0.1:81/"}, b"")}
    async with web_site(pages) as site:
        ui = FakeUI()
        call = {"path": f"{site.url}/"}
        allow = (f"127.0.0.1:{site.port}",)
        async with reading(tmp_path, call, allow=allow, ui=ui) as hosted:
            await hosted.session.prompt("go")
            text = str(hosted.session.messages[-2])

    assert ui.seen == []
    assert "it is in a private network" in text
    assert "web.allowPrivate" in text
