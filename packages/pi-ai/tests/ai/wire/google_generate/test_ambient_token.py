from __future__ import annotations

import json

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import AuthenticationFailed
from pi.ai.http.client import HttpClient
from pi.ai.messages import UserMessage
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.google_generate import answer
from pi.ai.wire.google_generate.rest import with_ambient_token
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, Script, ok, raw_server
from tests.ai.wire.google_generate.recorded_calls import HISTORY_MODEL

AMBIENT = Access(kind="ambient", env={"GOOGLE_CLOUD_LOCATION": "europe-west4"})
CALL = Call(
    model=replace(HISTORY_MODEL, api="google-vertex"),
    messages=(UserMessage(content="ask"),),
    access=AMBIENT,
)
ANSWER = {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}


def machine(requests: list[bytes]) -> Script:
    """A metadata server of Google and Vertex AI on one port."""

    async def script(peer: Peer) -> None:
        while True:
            requests.append(request := await peer.request())
            path = request.split(b" ")[1]
            if path.startswith(b"/computeMetadata/v1/instance"):
                await peer.send(ok(b'{"access_token": "ya29.machine", "expires_in": 3600}'))
            elif path.startswith(b"/computeMetadata"):
                await peer.send(ok(b"machine-project"))
            else:
                await peer.send(ok(b"data: " + json.dumps(ANSWER).encode() + b"\n\n"))

    return script


async def test_a_call_without_a_key_uses_the_token_of_the_machine(http: HttpClient) -> None:
    requests: list[bytes] = []
    async with raw_server(machine(requests)) as server:
        environ = {"GCE_METADATA_HOST": f"127.0.0.1:{server.port}", "HOME": "/nowhere"}
        call = replace(CALL, model=replace(CALL.model, base_url=server.url))
        builder = MessageBuilder(call.model, now_ms=0)

        services = Services(http=http, clock=FakeClock(), environ=environ)
        await answer(call, builder, lambda: None, services)

    head = requests[-1].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    place = "projects/machine-project/locations/europe-west4"
    path = f"/v1/{place}/publishers/google/models/m:streamGenerateContent?alt=sse"
    assert head[0] == f"POST {path} HTTP/1.1"
    assert "Authorization: Bearer ya29.machine" in head
    assert builder.message().text == "ok"


async def test_variables_of_the_request_override_the_entry_and_the_environment(
    http: HttpClient,
) -> None:
    requests: list[bytes] = []
    async with raw_server(machine(requests)) as server:
        environ = {
            "GCE_METADATA_HOST": f"127.0.0.1:{server.port}",
            "HOME": "/nowhere",
            "GOOGLE_CLOUD_PROJECT": "environment",
            "GOOGLE_VERTEX_LOCATION": "environment, by its first name",
            "GOOGLE_CLOUD_LOCATION": "environment",
        }
        options = StreamOptions(env={"GOOGLE_CLOUD_PROJECT": "request"})

        services = Services(http=http, clock=FakeClock(), environ=environ)
        placed = await with_ambient_token(replace(CALL, options=options), services)

    place = {"GOOGLE_CLOUD_PROJECT": "request", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
    assert placed.access == Access(api_key="ya29.machine", kind="ambient", env=place)


@pytest.mark.behaviour("explicit-credentials-win")
@pytest.mark.parametrize(
    "access",
    [Access(api_key="KEY", kind="api_key"), Access(api_key="T", kind="ambient"), Access()],
)
async def test_a_call_with_its_own_credential_needs_no_ambient_token(
    access: Access, http: HttpClient
) -> None:
    call = replace(CALL, access=access)
    services = Services(http=http, clock=FakeClock(), environ={"NO_GCE_CHECK": "true"})

    assert await with_ambient_token(call, services) is call


async def test_missing_google_credentials_raise_authentication_failed(http: HttpClient) -> None:
    environ = {"NO_GCE_CHECK": "true", "HOME": "/nowhere"}
    services = Services(http=http, clock=FakeClock(), environ=environ)

    with pytest.raises(AuthenticationFailed, match="no Google credentials"):
        await answer(CALL, MessageBuilder(CALL.model, now_ms=0), lambda: None, services)
