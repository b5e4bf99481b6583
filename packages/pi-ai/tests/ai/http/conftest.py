"""Clients, private certificate authorities and a watch on file descriptors."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from pi.ai.http.client import HttpClient
from pi.ai.http.tls import TlsSettings
from tests.ai.http.real_server import free_port


@pytest.fixture
def client(http: HttpClient) -> HttpClient:
    return http


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def authority_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.fixture
async def tls_client(authority_file: Path) -> AsyncIterator[HttpClient]:
    tls = TlsSettings(extra_ca=str(authority_file))
    async with HttpClient(environ={}, tls=tls) as client:
        yield client


@pytest.fixture
def closed_port() -> int:
    """A loopback port without a listener."""
    return free_port()
