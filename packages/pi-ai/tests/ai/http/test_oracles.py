"""The same requests through our client, httpx2 and aiohttp, against third-party servers."""

from __future__ import annotations

import io
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import httpx2
import pytest
import trustme

from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest
from pi.ai.http.tls import TlsSettings
from tests.ai.http.asgi_child import content
from tests.ai.http.real_server import NGINX, asgi_server, nginx_before
from tests.sampling import sampled

needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")

pytestmark = pytest.mark.full

SIZES = (0, 1, 64 * 1024, 5 * 1024 * 1024)
REQUESTS = [
    *(("GET", f"/{kind}/{size}", 0) for kind in ("length", "chunked", "gzip") for size in SIZES),
    *(("POST", "/echo", size) for size in SIZES),
    *(("PUT", "/echo", 10), ("HEAD", "/length/99", 0), ("DELETE", "/status/204", 0)),
    *(("GET", f"/status/{status}", 0) for status in (304, 404, 500, 529)),
]

Seen = tuple[int, tuple[str, ...], str, bytes]
"""Status, a repeated header, the content type or length that matters, body."""


async def ours(base: str, files: dict[str, Path], *, client_certificate: bool) -> list[Seen]:
    tls = TlsSettings(
        extra_ca=str(files["authority"]),
        client_certificate=str(files["client"]) if client_certificate else "",
    )
    answers = []
    async with HttpClient(environ={}, tls=tls) as client:
        for method, path, size in REQUESTS:
            headers = (("Accept-Encoding", "gzip"), ("X-Mark", "ä"))
            answer = await client.request(
                HttpRequest(method=method, url=base + path, headers=headers, body=content(size))
            )
            answers.append(
                (
                    answer.status,
                    answer.headers.get_all("x-twice"),
                    answer.headers.get("content-encoding"),
                    answer.body,
                )
            )
    return answers


async def with_httpx2(base: str, tls: ssl.SSLContext) -> list[Seen]:
    answers = []
    async with httpx2.AsyncClient(verify=tls, trust_env=False, timeout=20) as client:
        for method, path, size in REQUESTS:
            answer = await client.request(method, base + path, content=content(size))
            answers.append(
                (
                    answer.status_code,
                    tuple(answer.headers.get_list("x-twice")),
                    answer.headers.get("content-encoding", ""),
                    answer.content,
                )
            )
    return answers


async def with_aiohttp(base: str, tls: ssl.SSLContext) -> list[Seen]:
    answers = []
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(connector=connector) as session:
        for method, path, size in REQUESTS:
            async with session.request(
                method, base + path, data=io.BytesIO(content(size))
            ) as answer:
                answers.append(
                    (
                        answer.status,
                        tuple(answer.headers.getall("x-twice", [])),
                        answer.headers.get("content-encoding", ""),
                        await answer.read(),
                    )
                )
    return answers


@pytest.fixture(scope="module")
def files(
    authority: trustme.CA, authority_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """PEM files for both sides."""
    folder = tmp_path_factory.mktemp("certificates")
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("us@example.com")
    paths = {name: folder / f"{name}.pem" for name in ("certificate", "key", "client")}
    server.cert_chain_pems[0].write_to_path(paths["certificate"])
    server.private_key_pem.write_to_path(paths["key"])
    client.private_key_and_cert_chain_pem.write_to_path(paths["client"])
    return paths | {"authority": authority_file}


def running(
    kind: str, files: dict[str, Path], security: str, folder: Path, stack: ExitStack
) -> str:
    """Start a server of that kind for the length of ``stack``; its base URL."""
    tls: tuple[Path | str, ...] = ()
    if security != "plain":
        authority = files["authority"] if security == "client certificate" else ""
        tls = (files["certificate"], files["key"], authority)
    if kind != "nginx":
        return stack.enter_context(asgi_server(kind, tls))
    backend = stack.enter_context(asgi_server("uvicorn-httptools"))
    return stack.enter_context(nginx_before(backend, folder, tls))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    ("kind", "security"),
    sampled(
        [
            ("uvicorn-h11", "plain"),
            ("hypercorn", "client certificate"),
            pytest.param("nginx", "tls", marks=needs_nginx),
            ("uvicorn-h11", "tls"),
            ("uvicorn-h11", "client certificate"),
            ("uvicorn-httptools", "plain"),
            ("uvicorn-httptools", "tls"),
            ("uvicorn-httptools", "client certificate"),
            ("hypercorn", "plain"),
            ("hypercorn", "tls"),
            pytest.param("nginx", "plain", marks=needs_nginx),
            pytest.param("nginx", "client certificate", marks=needs_nginx),
        ],
        keep=3,
    ),
)
async def test_responses_are_read_as_httpx2_and_aiohttp_read_them(
    kind: str, security: str, files: dict[str, Path], tmp_path: Path, stack: ExitStack
) -> None:
    base = running(kind, files, security, tmp_path, stack)
    demanded = security == "client certificate"
    oracle_tls = ssl.create_default_context(cafile=str(files["authority"]))
    if demanded:
        oracle_tls.load_cert_chain(files["client"])

    seen = await ours(base, files, client_certificate=demanded)

    assert [answer[0] for answer in seen] == [200] * 18 + [204, 304, 404, 500, 529]
    assert [len(answer[3]) for answer in seen[:17]] == [*SIZES * 4, 10]
    assert seen == await with_httpx2(base, oracle_tls)
    assert seen == await with_aiohttp(base, oracle_tls)
