from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from pi.ai.events import Done, Failed, Start, StreamEvent
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Access, Call
from tests.ai.wire.conformance import recording
from tests.ai.wire.exchanges import exchange, stream_of
from tests.ai.wire.replay_server import Replay
from tests.batteries.auth_gateway.running_gateway import TOKEN, running_gateway

UPSTREAM = ("anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai")
CASES = ("text", "thinking", "tool_call", "parallel_tools", "usage_cache", "length", "unicode")
FORMATS = {
    "pi-messages": "/v1/pi",
    "openai-completions": "/v1",
    "anthropic-messages": "",
    "openai-responses": "/v1",
}
"""The wires that clients speak, and where they look for the gateway."""


def plain(message: AssistantMessage) -> list[Any]:
    """The parts of a message that every format has: no ids of calls and no signatures."""
    blocks = []
    for block in message.content:
        match block.__struct_config__.tag:
            case "text":
                blocks.append(("text", block.text))  # type: ignore[union-attr]
            case "thinking":
                blocks.append(("thinking", block.thinking))  # type: ignore[union-attr]
            case "toolCall":
                blocks.append((block.name, block.arguments))  # type: ignore[union-attr]
    usage = message.usage
    counts = [usage.input + usage.cache_write, usage.output, usage.cache_read]
    return [*blocks, message.stop_reason, *counts]


async def asked(url: str, api: str, **options: Any) -> tuple[list[StreamEvent], AssistantMessage]:
    """The events and the message that our client for the wire ``api`` receives."""
    model = Model(
        id="m", name="M", api=api, provider="gateway", base_url=url + FORMATS[api],
        reasoning=True, input=("text", "image"), max_tokens=8000,
    )  # fmt: skip
    access = Access(api_key=TOKEN, kind="api_key")
    call = Call(model=model, messages=(UserMessage(content="hi"),), access=access)
    async with HttpClient(environ={}) as client:
        stream = stream_of(call, client)
        events = [event async for event in stream]
        return events, await stream.result()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("api", UPSTREAM)
async def test_a_recording_produces_the_same_events_through_the_gateway(
    api: str, case: str
) -> None:
    direct = await exchange(api, Replay([recording(api, case)]))
    async with running_gateway(api, case) as gateway:
        events, message = await asked(gateway.url, "pi-messages")

    def inner(events: Any) -> list[StreamEvent]:
        return [each for each in events if not isinstance(each, Start | Done | Failed)]

    assert inner(events) == inner(direct.events)
    assert message.content == direct.message.content
    assert message.usage == direct.message.usage
    assert message.stop_reason == direct.message.stop_reason


@pytest.mark.parametrize("case", ("thinking", "parallel_tools", "usage_cache", "length"))
@pytest.mark.parametrize("served", ("openai-completions", "anthropic-messages", "openai-responses"))
@pytest.mark.parametrize("api", UPSTREAM[:3])
async def test_every_format_returns_the_same_message_over_every_wire(
    api: str, served: str, case: str
) -> None:
    direct = await exchange(api, Replay([recording(api, case)]))
    async with running_gateway(api, case) as gateway:
        _, message = await asked(gateway.url, served)

    assert plain(message) == plain(direct.message)


@pytest.mark.parametrize(
    ("case", "status", "retry"),
    [("unauthorized", 403, "false"), ("rate_limit", 429, "true"), ("server_error", 503, "true"),
     ("overflow", 400, "false")],
)  # fmt: skip
async def test_a_failure_before_the_answer_has_a_status(case: str, status: int, retry: str) -> None:
    for path, kind in (("/v1/messages", "anthropic"), ("/v1/chat/completions", "openai")):
        for stream in (True, False):
            async with running_gateway("openai-completions", case) as gateway:
                got, headers, body = await post(gateway.url + path, question(stream=stream))
            assert (got, headers["x-should-retry"]) == (status, retry)
            assert body["error"]["message"]
            assert (body.get("type") == "error") == (kind == "anthropic")


async def test_a_failure_during_the_response_is_an_error_event() -> None:
    async with running_gateway("anthropic-messages", "cut") as gateway:
        _, message = await asked(gateway.url, "openai-completions")

        assert message.stop_reason == "error"
        assert message.content  # what came before it is kept


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        (None, {}, 401),
        (TOKEN[:-1], {}, 401),
        ("x" * 40, {}, 401),
        (TOKEN, {"Origin": "http://localhost:3000"}, 403),
        (TOKEN, {"Host": "rebound.example"}, 403),
    ],
)
async def test_unauthorised_callers_are_rejected_and_logged_without_secrets(
    token: str | None, headers: dict[str, str], status: int
) -> None:
    async with running_gateway("openai-completions", "text") as gateway:
        sent = {**headers, **({"x-api-key": token} if token else {})}
        got, _, body = await post(f"{gateway.url}/v1/messages", question(), sent)

        assert (got, body["type"]) == (status, "error")
        assert gateway.upstream.requests == []
        (line,) = gateway.reports
        assert line.startswith("Refused POST /v1/messages of 127.0.0.1: ")
        assert not token or token not in line


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"model": "m"}', 200), (b'{"model": "nope"}', 404),
     (b'{"model": "m", "messages": 5}', 400)],
)  # fmt: skip
async def test_requests_that_cannot_be_served_are_rejected(body: bytes, status: int) -> None:
    async with running_gateway("openai-completions", "text") as gateway:
        got, _, answer = await post(f"{gateway.url}/v1/chat/completions", body)

        assert got == status
        assert ("error" in answer) == (status != 200)
        assert (await post(f"{gateway.url}/v1/embeddings", b"{}"))[0] == 404


async def test_the_gateway_lists_models_and_usage() -> None:
    async with running_gateway("openai-completions", "usage_cache") as gateway:
        for name in ("m", "p/m"):
            status, _, _ = await post(f"{gateway.url}/v1/chat/completions", question(model=name))
            assert status == 200
        _, _, models = await get(f"{gateway.url}/v1/models")
        _, _, usage = await get(f"{gateway.url}/v1/usage")

    assert [each["id"] for each in models["data"]] == ["p/m"]
    use = usage["models"]["p/m"]
    assert (use["requests"], use["failed"]) == (2, 0)
    assert use["input"] > 0
    assert usage["credentials"] == {"p": "vault of p"}


async def test_a_client_disconnect_cancels_the_request_to_the_model() -> None:
    begun = recording("openai-completions", "text")[:-80]
    async with running_gateway(
        "openai-completions", replay=Replay([begun], then="hold")
    ) as gateway:
        async with aiohttp.ClientSession() as http:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            url = f"{gateway.url}/v1/chat/completions"
            async with http.post(url, data=question(stream=True), headers=headers) as response:
                await response.content.readany()
                response.close()
        async with asyncio.timeout(10):
            await gateway.upstream.left.wait()


def question(*, stream: bool = False, model: str = "m") -> bytes:
    """A request that Chat Completions and Messages both read."""
    messages = [{"role": "user", "content": "hi"}]
    return json.dumps(
        {"model": model, "max_tokens": 10, "messages": messages, "stream": stream}
    ).encode()


async def post(
    url: str, body: bytes, headers: dict[str, str] | None = None
) -> tuple[int, Any, Any]:
    sent = {"Authorization": f"Bearer {TOKEN}"} if headers is None else headers
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, data=body, headers=sent) as response,
    ):
        text = await response.text()
        parsed = json.loads(text) if "json" in response.content_type else text
        return response.status, response.headers, parsed


async def get(url: str) -> tuple[int, Any, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as response:
        return response.status, response.headers, await response.json()
