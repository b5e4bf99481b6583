"""Botocore as the oracle: our requests equal those it makes from our payloads."""

from __future__ import annotations

import asyncio
import json
import re
from calendar import timegm
from time import strptime
from urllib.parse import urlsplit

import pytest

from pi.ai.messages import Image, Json, SystemMessage, Text, Thinking, UserMessage
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.identity import AwsIdentity
from pi.ai.wire.bedrock_converse.request import encode
from pi.ai.wire.bedrock_converse.rest import rest_request
from pi.ai.wire.bedrock_converse.signing import AwsKeys, scope_at, sign
from pi.base.records import replace
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.bedrock_converse.calls import (
    API,
    BASE_URL,
    HELLO,
    KEYS,
    SONNET,
    assistant_message,
    call,
    model,
    peek,
    result,
)
from tests.ai.wire.conformance import recording
from tests.ai.wire.fixed_conversation import PEEK, PNG, recorded_call, recorded_payloads
from tests.sampling import sampled

pytestmark = pytest.mark.full

PICTURE = Image(data=PNG, mime_type="image/png")
REDACTED = Thinking(thinking="", thinking_signature="AAE=", redacted=True)
TURN = (
    SystemMessage(content="S", tools_added=(PEEK,)),
    UserMessage(content=(Text(text="wörld 👋"), PICTURE)),
    assistant_message(REDACTED, Text(text="t"), peek("a"), peek("b")),
    result("a", Text(text="no"), is_error=True),
    result("b", PICTURE),
)
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1"
STRICT = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})
CALLS = {
    **{row["reasoning"]: recorded_call(row, BASE_URL) for row in recorded_payloads(API)},
    "bare": call(HELLO),
    "arn": call(HELLO, target=model(ARN)),
    "turn": call(*TURN),
    "budget": call(*TURN, target=model(SONNET), reasoning="low", cache_retention="long"),
    "forced": call(*TURN, tool_choice={"type": "tool", "name": "peek"}, temperature=0.5),
    "nova": call(*TURN, target=model("us.amazon.nova-2-lite-v1:0"), reasoning="high"),
    "strict": call(
        SystemMessage(content="S", tools_added=(STRICT,)),
        HELLO,
        target=model(compat={"supportsStrictMode": True}),
        tool_choice={"type": "any"},
    ),
}


class Sdk:
    """One request of botocore, as it reached a server."""

    def __init__(self, payload: Json, keys: AwsKeys) -> None:
        self._session = pytest.importorskip(
            "botocore.session", reason="botocore is not installed; not tested: requests like its"
        )
        self.head = self.body = b""
        self._payload = payload
        self._keys = keys

    async def run(self) -> Sdk:
        async with raw_server(self._script) as server, asyncio.timeout(60):
            await asyncio.to_thread(self._ask, server.url)
        return self

    def header(self, name: str) -> str:
        found = re.search(rf"(?im)^{name}: (.*)\r$", self.head.decode())
        return found[1] if found else ""

    async def _script(self, peer: Peer) -> None:
        self.head = await peer.reader.readuntil(b"\r\n\r\n")
        self.body = await peer.reader.readexactly(int(self.header("Content-Length")))
        await peer.send(recording(API, "text"))
        await peer.hang_up()

    def _ask(self, url: str) -> None:
        client = self._session.Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=self._keys.access_key,
            aws_secret_access_key=self._keys.secret_key,
            aws_session_token=self._keys.session_token,
        )
        try:
            list(client.converse_stream(**self._payload)["stream"])
        finally:
            client.close()


@pytest.mark.parametrize(
    "keys", [KEYS, AwsKeys(access_key="AK", secret_key="SK")], ids=["expiring", "lasting"]
)
@pytest.mark.parametrize("asked", sampled(CALLS.values(), keep=3), ids=CALLS.keys())
async def test_the_request_equals_that_of_botocore(asked: Call, keys: AwsKeys) -> None:
    payload = encode(asked)
    theirs = await Sdk(payload, keys).run()
    host, moment = theirs.header("Host"), theirs.header("X-Amz-Date")
    now_ms = timegm(strptime(moment, "%Y%m%dT%H%M%SZ")) * 1000
    through = replace(asked, model=replace(asked.model, base_url=f"http://{host}"))

    ours = rest_request(through, payload, AwsIdentity(keys=keys, region="us-east-1"), now_ms)

    assert json.loads(ours.body) == json.loads(theirs.body)
    assert theirs.head.split(b" ")[1].decode() == urlsplit(ours.url).path
    # Botocore's JSON has spaces, so the signatures are compared over its bytes.
    scope = scope_at(now_ms, region="us-east-1", service="bedrock")
    signed = sign(
        "POST",
        ours.url,
        {"Content-Type": theirs.header("Content-Type")},
        theirs.body,
        keys=keys,
        scope=scope,
    )
    assert signed["Authorization"] == theirs.header("Authorization")
    assert signed.get("X-Amz-Security-Token", "") == theirs.header("X-Amz-Security-Token")
    assert ours.headers.keys() == {*signed, "Accept", "User-Agent"}
