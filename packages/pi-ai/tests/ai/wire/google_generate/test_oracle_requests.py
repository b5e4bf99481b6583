from __future__ import annotations

import asyncio
import base64
import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from pi.ai.json_text import clean_json
from pi.ai.messages import Image, Json, SystemMessage, Text, UserMessage
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.google_generate.request import encode
from pi.ai.wire.google_generate.rest import rest_body, url
from pi.base.records import replace
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.awkward_histories import HISTORIES, foreign, peek, result
from tests.ai.wire.fixed_conversation import PEEK, PNG
from tests.ai.wire.google_generate.recorded_calls import (
    HISTORY_MODEL,
    history_call,
    payload_call,
    rows,
)

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    b'data: {"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}\r\n\r\n'
)
VALUES = {"args", "response", "parametersJsonSchema"}
"""Fields whose content is the caller's, not Google's."""
BYTES = {"data", "thoughtSignature"}


async def sent_by_sdk(payload: Json, **client: Any) -> tuple[str, Json]:
    """Path and body of the request that Google's SDK makes of ``payload``."""
    genai = pytest.importorskip(
        "google.genai", reason="google-genai is not installed; not tested: bodies against its own"
    )
    requests: list[bytes] = []

    async def script(peer: Peer) -> None:
        requests.append(await sdk_request(peer))
        await peer.send(ANSWER)
        await peer.hang_up()

    def ask(base_url: str) -> None:
        options = {"base_url": base_url, **client.pop("http_options", {})}
        with genai.Client(**client, http_options=options) as sdk:
            list(sdk.models.generate_content_stream(**payload))

    async with raw_server(script) as server, asyncio.timeout(30):
        await asyncio.to_thread(ask, server.url)
    head, _, body = requests[0].partition(b"\r\n\r\n")
    return head.split(b" ")[1].decode(), json.loads(body)


async def sdk_request(peer: Peer) -> bytes:
    """A request with its body, whichever way the length is spelled."""
    head = await peer.reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)\r\n", head)
    assert length is not None
    return head + await peer.reader.readexactly(int(length[1]))


def proto_json(value: Any, name: str = "") -> Any:
    """Normalise field names and base64 alphabets that Google's servers treat alike."""
    if name in VALUES:
        return value
    if name in BYTES:
        return base64.urlsafe_b64decode(value.replace("+", "-").replace("/", "_"))
    if isinstance(value, dict):
        camel = {re.sub(r"_(\w)", lambda found: found[1].upper(), key): key for key in value}
        return {key: proto_json(value[spelled], key) for key, spelled in camel.items()}
    if isinstance(value, list):
        return [proto_json(item) for item in value]
    return value


SIGHT = replace(HISTORY_MODEL, id="gemini-2.5-flash", reasoning=True)
NEW = replace(HISTORY_MODEL, id="gemini-3-flash-preview", reasoning=True)
TURN = (
    SystemMessage(content="S", tools_added=(PEEK,)),
    UserMessage(content=(Image(data=PNG, mime_type="image/png"),)),
    foreign(peek("c1"), peek("c2")),
    result("c1", Text(text="no"), is_error=True),
    result("c2", Image(data=PNG, mime_type="image/png")),
)
CALLS = {
    **{
        f"{row['provider']}-{row['reasoning']}": payload_call(row)
        for row in rows("payloads-by-provider.jsonl")
    },
    **{case: history_call(case) for case in HISTORIES if case != "imageResult"},
    "unsigned": Call(model=NEW, messages=TURN),
    "budget": Call(
        model=SIGHT,
        messages=TURN,
        options=StreamOptions(
            reasoning="low", temperature=0.5, tool_choice={"type": "tool", "name": "peek"}
        ),
    ),
    "off": Call(model=SIGHT, messages=TURN, options=StreamOptions(tool_choice="none")),
    "openapi": Call(
        model=replace(SIGHT, compat={"supportsParametersJsonSchema": False}), messages=TURN
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_the_request_body_equals_that_of_the_sdk(call: Call) -> None:
    payload = clean_json(encode(call))
    vertex = call.model.api == "google-vertex"

    _, theirs = await sent_by_sdk(payload, vertexai=vertex, api_key="KEY")

    assert proto_json(rest_body(payload)) == proto_json(theirs)


@pytest.mark.parametrize(
    ("access", "client"),
    [
        (Access(api_key="KEY", kind="api_key"), {"api_key": "KEY"}),
        (
            Access(
                api_key="TOKEN",
                kind="ambient",
                env={"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
            ),
            {"project": "p", "location": "europe-west4"},
        ),
    ],
    ids=["key", "token"],
)
async def test_the_vertex_url_equals_that_of_the_sdk(access: Access, client: Json) -> None:
    model = replace(
        NEW, api="google-vertex", base_url="https://{location}-aiplatform.googleapis.com"
    )
    call = Call(model=model, messages=TURN, access=access)
    if "project" in client:
        credentials = pytest.importorskip("google.oauth2.credentials").Credentials(token="TOKEN")
        client = {**client, "credentials": credentials}

    path, _ = await sent_by_sdk(
        encode(call), vertexai=True, http_options={"api_version": "v1"}, **client
    )

    parts = urlsplit(url(call))
    assert path == f"{parts.path}?{parts.query}"
