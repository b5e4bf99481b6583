from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from pi.ai.auth.google_adc import GoogleCredentials, access_token
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.base.installation import extra_command
from tests.ai.http.raw_server import Peer, RawServer, raw_server

Reply = tuple[int, Any]


@pytest.fixture(scope="module")
def private_key() -> str:
    """A throw-away key; without the extra, files of credentials are not tested."""
    why = "google-auth is not installed; not tested: tokens for Google's credential files"
    pytest.importorskip("google.oauth2.service_account", reason=why)
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


@pytest.fixture
def service_account(private_key: str, tmp_path: Path) -> Callable[[RawServer], Path]:
    """Write a service-account file whose tokens come from a server."""

    def write(server: RawServer) -> Path:
        path = tmp_path / "account.json"
        account = {
            "type": "service_account",
            "project_id": "from-file",
            "private_key_id": "k1",
            "private_key": private_key,
            "client_email": "pi@example.test",
            "client_id": "1",
            "token_uri": f"{server.url}token",
        }
        path.write_text(json.dumps(account))
        return path

    return write


@asynccontextmanager
async def google(*replies: Reply) -> AsyncIterator[tuple[RawServer, list[bytes]]]:
    """A server that sends these replies in order, and its received requests."""
    requests: list[bytes] = []

    async def script(peer: Peer) -> None:
        while True:
            requests.append(await peer.request())
            status, content = replies[min(len(requests), len(replies)) - 1]
            body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            head = f"HTTP/1.1 {status} Reply\r\nContent-Length: {len(body)}\r\n\r\n"
            await peer.send(head.encode() + body)

    async with raw_server(script) as server:
        yield server, requests


def granted(token: str, seconds: int = 3600) -> Reply:
    return 200, {"access_token": token, "expires_in": seconds, "token_type": "Bearer"}


async def test_a_service_account_gets_a_token_with_a_signed_assertion(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("ya29.one")) as (server, requests):
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(service_account(server))}

        token = await access_token(environ, http)

        assert token == ("ya29.one", "from-file")
        head, _, body = requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /token HTTP/1.1\r\n")
        form = parse_qs(body.decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        claims = form["assertion"][0].split(".")[1]
        payload = json.loads(base64.urlsafe_b64decode(claims + "=="))
        assert payload["iss"] == "pi@example.test"
        assert payload["scope"] == "https://www.googleapis.com/auth/cloud-platform"


async def test_the_project_of_the_environment_overrides_that_of_the_file(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("ya29.one")) as (server, _):
        environ = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(service_account(server)),
            "GCLOUD_PROJECT": "from-environment",
        }

        assert await access_token(environ, http) == ("ya29.one", "from-environment")


async def test_concurrent_requests_share_one_token_request(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("ya29.one"), granted("ya29.two")) as (server, requests):
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(service_account(server))}
        credentials = GoogleCredentials()

        tokens = await asyncio.gather(
            *(credentials.access_token(environ, http) for _ in range(5)),
        )

        assert tokens == [("ya29.one", "from-file")] * 5
        assert len(requests) == 1


async def test_an_expired_token_is_refreshed(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("ya29.one", seconds=1), granted("ya29.two")) as (server, _):
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(service_account(server))}
        credentials = GoogleCredentials()

        first = await credentials.access_token(environ, http)
        second = await credentials.access_token(environ, http)

        assert (first[0], second[0]) == ("ya29.one", "ya29.two")


@pytest.mark.behaviour("login-in-another-terminal-is-seen")
async def test_a_changed_credential_file_is_read_again(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("ya29.one"), granted("ya29.two")) as (server, _):
        path = service_account(server)
        credentials = GoogleCredentials()
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}
        await credentials.access_token(environ, http)

        os.utime(path, ns=(0, time.time_ns() + 1_000_000_000))

        assert await credentials.access_token(environ, http) == ("ya29.two", "from-file")


async def test_a_workload_of_another_cloud_exchanges_its_own_token(
    http: HttpClient, private_key: str, tmp_path: Path
) -> None:
    (tmp_path / "subject").write_text("their-token")
    async with google(granted("ya29.federated")) as (server, requests):
        account = {
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{server.url}token",
            "credential_source": {"file": str(tmp_path / "subject")},
        }
        path = tmp_path / "account.json"
        path.write_text(json.dumps(account))

        token = await access_token({"GOOGLE_APPLICATION_CREDENTIALS": str(path)}, http)

        assert token == ("ya29.federated", None)
        assert b"subject_token=their-token" in requests[0]


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
async def test_rejected_credentials_raise_an_error_with_a_hint(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    refusal = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
    async with google((400, refusal)) as (server, _):
        path = service_account(server)

        with pytest.raises(AuthenticationFailed, match="Invalid JWT Signature") as caught:
            await access_token({"GOOGLE_APPLICATION_CREDENTIALS": str(path)}, http)

        assert "gcloud auth application-default login" in caught.value.hint
        assert path.exists()


async def test_an_unreachable_token_server_raises_a_retryable_error(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    async with google(granted("never")) as (server, _):
        path = service_account(server)
    with pytest.raises(ProviderUnavailable, match="could not be asked") as caught:
        await access_token({"GOOGLE_APPLICATION_CREDENTIALS": str(path)}, http)

    assert caught.value.retryable


async def test_a_cancelled_wait_closes_the_connection(
    http: HttpClient, service_account: Callable[[RawServer], Path]
) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def silent(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()
        left.set()

    async with raw_server(silent) as server, asyncio.timeout(30):
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(service_account(server))}
        waiting = asyncio.create_task(access_token(environ, http))
        await asked.wait()

        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting
        await left.wait()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("no json", "malformed"),
        ('{"type": "gopher"}', "credentials of type 'gopher' are not supported"),
        ('{"type": "service_account"}', "token_uri"),
        (None, "No such file"),
    ],
)
async def test_an_unusable_credential_file_is_named_in_the_error(
    content: str | None, why: str, http: HttpClient, private_key: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(AuthenticationFailed) as caught:
        await access_token({"GOOGLE_APPLICATION_CREDENTIALS": str(path)}, http)

    assert str(path) in caught.value.message
    assert why in caught.value.message


async def test_the_token_of_a_google_machine_comes_from_its_metadata_server(
    http: HttpClient, tmp_path: Path
) -> None:
    async with google(granted("ya29.machine"), (200, "machine-project\n")) as (server, requests):
        environ = {"HOME": str(tmp_path), "GCE_METADATA_HOST": f"127.0.0.1:{server.port}"}

        token = await access_token(environ, http)

        assert token == ("ya29.machine", "machine-project")
        assert [request.split(b"?")[0].split(b" HTTP")[0] for request in requests] == [
            b"GET /computeMetadata/v1/instance/service-accounts/default/token",
            b"GET /computeMetadata/v1/project/project-id",
        ]
        assert all(b"Metadata-Flavor: Google\r\n" in request for request in requests)


async def test_requests_to_the_metadata_server_bypass_the_proxy(tmp_path: Path) -> None:
    async with google(granted("ya29.machine")) as (server, requests):
        environ = {
            "HOME": str(tmp_path),
            "GCE_METADATA_HOST": f"127.0.0.1:{server.port}",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "GOOGLE_CLOUD_PROJECT": "p",
        }

        async with HttpClient(environ=environ) as proxied:
            assert await access_token(environ, proxied) == ("ya29.machine", "p")

        assert len(requests) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((403, "no scopes"), "Google's metadata server answered 403: no scopes"),
        ((200, "not json"), "There are no Google credentials here."),
        ((200, []), "There are no Google credentials here."),
    ],
)
async def test_a_metadata_server_without_a_token_raises_authentication_failed(
    reply: Reply, why: str, http: HttpClient, tmp_path: Path
) -> None:
    async with google(reply) as (server, _):
        environ = {"HOME": str(tmp_path), "GCE_METADATA_HOST": f"127.0.0.1:{server.port}"}

        with pytest.raises(AuthenticationFailed) as caught:
            await access_token(environ, http)

    assert caught.value.message == why


async def test_missing_credentials_raise_an_error_with_the_login_command(
    http: HttpClient, tmp_path: Path
) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        await access_token({"HOME": str(tmp_path), "NO_GCE_CHECK": "true"}, http)

    assert "gcloud auth application-default login" in caught.value.hint


def test_an_uninstalled_extra_is_named_in_the_error(tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    key.write_text('{"type": "service_account"}')
    program = """
import asyncio, sys
sys.modules["google"] = None  # as if nothing of Google were installed
from pi.ai.auth.google_adc import access_token
from pi.ai.http.client import HttpClient

async def main():
    try:
        await access_token({"GOOGLE_APPLICATION_CREDENTIALS": sys.argv[1]}, HttpClient(environ={}))
    except Exception as problem:
        sys.stdout.write(problem.explain())

asyncio.run(main())
"""

    ended = subprocess.run(
        [sys.executable, "-c", program, str(key)], capture_output=True, text=True, timeout=60
    )

    assert ended.stdout == (
        "Google credentials need the package google-auth, which is not installed: "
        f"run `{extra_command('vertex')}`. Or set GOOGLE_CLOUD_API_KEY."
    )


def test_importing_the_module_does_not_import_google() -> None:
    program = "import sys, pi.ai.auth.google_adc; sys.exit('google' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
