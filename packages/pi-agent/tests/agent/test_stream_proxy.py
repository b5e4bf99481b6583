from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from pi.agent.agent import Agent
from pi.agent.events import AgentEvent, MessageUpdate
from pi.agent.proxy import StreamProxy, stream_proxy
from pi.agent.tools.define import tool
from pi.ai.errors import ProviderUnavailable, RateLimited
from pi.ai.factory import Network, make_services
from pi.ai.messages import AssistantMessage, Context, Text, ToolResultMessage, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import Step
from pi.ai.request import StreamOptions
from pi.ai.testing import ScriptedStream, call, says, thinks
from pi.ai.wire.pi_messages.server import (
    PROXY_CONTENT_TYPE,
    proxy_messages,
    proxy_stream_options,
    read_proxy_request,
    serve_proxy,
)
from pi.ai.wire_support.exchange import Services
from pi.base.clock import SystemClock
from tests.ai.http.raw_server import Peer, raw_server

CLAUDE = Model(id="claude", name="Claude", api="anthropic-messages", provider="anthropic")
BALANCED = Model(id="balanced", name="Balanced", api="pi-messages", provider="our-server")
HELLO = Context(messages=(UserMessage(content="hello"),))


class Server:
    """The server: calls ``CLAUDE`` for every requested model."""

    def __init__(self, *steps: Step, token: str = "SECRET") -> None:
        self.upstream = ScriptedStream(*steps)
        self.refused = 0
        self._token = token

    async def __call__(self, peer: Peer) -> None:
        head, _, body = (await peer.request()).partition(b"\r\n\r\n")
        line, *headers = head.decode().split("\r\n")
        assert line == "POST /v1/messages HTTP/1.1"
        if f"Authorization: Bearer {self._token}" not in headers:
            self.refused += 1
            await peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            return
        question = read_proxy_request(body)
        context = Context(messages=proxy_messages(question, CLAUDE))
        answer = self.upstream(CLAUDE, context, proxy_stream_options(question.options))
        start = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {PROXY_CONTENT_TYPE}\r\nConnection: close\r\n\r\n"
        )
        await peer.send(start.encode())
        async with aclosing(serve_proxy(answer)) as pieces:
            async for piece in pieces:
                await peer.send(piece)
        await peer.hang_up()


@asynccontextmanager
async def proxied(server: Server, token: str | None = "SECRET") -> AsyncIterator[StreamProxy]:
    async with raw_server(server) as listening:
        stream = stream_proxy(f"{listening.url}v1", token)
        try:
            yield stream
        finally:
            await stream.close()


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def test_an_agent_runs_its_tools_locally_while_the_server_calls_the_model() -> None:
    wants = thinks("hm", call("add", id="c1", a=2, b=3))
    server = Server(wants, says("It is 5."))
    events: list[AgentEvent] = []

    async with proxied(server) as stream:
        agent = Agent(
            stream, model=BALANCED, thinking_level="low", system_prompt="Be brief.", tools=[add]
        )
        agent.subscribe(events.append)
        await agent.prompt("What is 2 + 3?")

    answers = [m for m in agent.state.messages if isinstance(m, AssistantMessage)]
    assert [answer.stop_reason for answer in answers] == ["toolUse", "stop"]
    assert answers[1].text == "It is 5."
    assert (answers[1].api, answers[1].model) == ("pi-messages", "balanced")
    deltas = [
        getattr(event.assistant_message_event, "delta", "")
        for event in events
        if isinstance(event, MessageUpdate)
    ]
    assert "".join(deltas) == 'hm{"a":2,"b":3}It is 5.'
    first, second = server.upstream.requests
    assert first.options.reasoning == "low"
    kinds = [type(message).__name__ for message in second.messages]
    assert kinds == ["SystemMessage", "UserMessage", "AssistantMessage", "ToolResultMessage"]
    sent = second.messages[2]
    assert isinstance(sent, AssistantMessage)
    assert (sent.api, sent.model) == ("anthropic-messages", "claude")  # its own, for signatures
    result = second.messages[3]
    assert isinstance(result, ToolResultMessage)
    assert result.content == (Text(text="5"),)


async def test_a_failure_of_the_servers_model_is_reproduced_in_the_client() -> None:
    server = Server(RateLimited('429: {"message":"slow"}', status=429, retry_after=7))

    async with proxied(server) as stream:
        answer = stream(BALANCED, HELLO, StreamOptions())
        message = await answer.result()

    assert message.stop_reason == "error"
    assert isinstance(answer.failure, RateLimited)
    assert answer.failure.retry_after == 7


@pytest.mark.parametrize("token", ["WRONG", None])
async def test_a_wrong_or_missing_token_is_rejected_by_the_server(token: str | None) -> None:
    server = Server(says("never"))

    async with proxied(server, token) as stream:
        message = await stream(BALANCED, HELLO, StreamOptions()).result()

    assert message.stop_reason == "error"
    assert (server.refused, server.upstream.requests) == (1, [])


async def test_an_unreachable_server_is_an_error_in_the_stream() -> None:
    async with raw_server(Server()) as listening:
        url = listening.url
    stream = stream_proxy(url)

    answer = stream(BALANCED, HELLO, StreamOptions())
    message = await answer.result()
    await stream.close()

    assert message.stop_reason == "error"
    assert isinstance(answer.failure, ProviderUnavailable)


async def test_aborting_ends_the_request() -> None:
    begun = asyncio.Event()
    gone = asyncio.Event()

    async def silent(peer: Peer) -> None:
        await peer.request()
        begun.set()
        await peer.gone()
        gone.set()

    async with raw_server(silent) as listening:
        stream = stream_proxy(listening.url)
        agent = Agent(stream, model=BALANCED)
        running = asyncio.create_task(agent.prompt("go"))
        await begun.wait()
        agent.abort()
        await running
        await asyncio.wait_for(gone.wait(), 20)
        await stream.close()

    assert agent.state.messages[-1].stop_reason == "aborted"


async def test_the_caller_can_supply_the_http_services() -> None:
    made = 0

    def services() -> Services:
        nonlocal made
        made += 1
        return make_services({}, SystemClock(), Network())

    async with raw_server(Server(says("one")), Server(says("two"))) as listening:
        stream = stream_proxy(f"{listening.url}v1", "SECRET", make_services=services)
        answers = [await stream(BALANCED, HELLO, StreamOptions()).result() for _ in range(2)]
        await stream.close()
        await stream.close()

    assert ([answer.text for answer in answers], made) == (["one", "two"], 1)


def test_no_module_of_the_agent_loads_an_http_client() -> None:
    program = """
import importlib, pkgutil, sys
import pi.agent
for module in pkgutil.walk_packages(pi.agent.__path__, "pi.agent."):
    importlib.import_module(module.name)
from pi.agent.proxy import stream_proxy
stream_proxy("http://127.0.0.1:1")
print([name for name in sys.modules if name.startswith(("pi.ai.http", "httptools", "pi.coding"))])
"""

    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert finished.stdout.decode() == "[]\n"
