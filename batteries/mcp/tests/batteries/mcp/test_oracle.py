"""Exchanges recorded from the official SDK: results are parsed as by it; it accepts requests."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image, Text
from pi.batteries.mcp import client_messages, protocol, server_messages
from pi.batteries.mcp.client import Client
from pi.batteries.mcp.content import Limits, call_result, prompt_blocks, resource_blocks
from pi.batteries.mcp.protocol import Era, ServerInfo
from pi.batteries.mcp.transport import Peer
from scripts.workspace import ROOT

HERE = Path(__file__).parent
EXCHANGES = json.loads((HERE / "exchanges.json").read_text())
REQUESTS = HERE / "requests.json"
SDK = ROOT / ".oracles" / "python" / "bin" / "python"
needs_sdk = pytest.mark.skipif(
    not SDK.exists(), reason="the SDK is not installed (scripts/oracles)"
)


def of(method: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (exchange["raw"], exchange["read"])
        for exchange in EXCHANGES
        if exchange["method"] == method
    ]


def test_recorded_exchanges_cover_every_method_and_version() -> None:
    assert len(EXCHANGES) >= 200
    assert {exchange["version"] for exchange in EXCHANGES} == {protocol.MODERN, *protocol.HANDSHAKE}
    assert len({exchange["method"] for exchange in EXCHANGES}) == 14


def test_lists_are_parsed_as_by_the_sdk() -> None:
    for raw, read in of("tools/list"):
        ours = [
            (t.name, t.description, t.input_schema, t.title) for t in server_messages.tools_of(raw)
        ]
        assert ours == [
            (t["name"], t["description"], t["inputSchema"], t["title"]) for t in read["tools"]
        ]
    for raw, read in of("prompts/list"):
        ours_prompts = [
            (p.name, p.description, [(a.name, a.required) for a in p.arguments])
            for p in server_messages.prompts_of(raw)
        ]
        assert ours_prompts == [
            (
                p["name"],
                p["description"],
                [(a["name"], a.get("required", False)) for a in p["arguments"]],
            )
            for p in read["prompts"]
        ]
    for raw, read in of("resources/list"):
        assert [(r.uri, r.name, r.mime_type) for r in server_messages.resources_of(raw)] == [
            (r["uri"], r["name"], r["mimeType"]) for r in read["resources"]
        ]
    for raw, read in of("resources/templates/list"):
        assert [(r.uri, r.name) for r in server_messages.templates_of(raw)] == [
            (r["uriTemplate"], r["name"]) for r in read["resourceTemplates"]
        ]


def shape(block: Text | Image) -> tuple[str, str]:
    return ("image", block.data) if isinstance(block, Image) else ("text", block.text)


def expected(content: dict[str, Any]) -> tuple[str, str]:
    """The block that the model should receive for a content block parsed by the SDK."""
    match content:
        case {"type": "text", "text": text}:
            return "text", text
        case {"type": "image", "data": data}:
            return "image", data
        case {"type": "resource", "resource": {"text": text}}:
            return "text", text
        case {"type": "resource", "resource": {"blob": data, "mimeType": "image/png"}}:
            return "image", data
        case {"type": "audio"}:
            return "text", "[audio, audio/wav, 3 bytes; it cannot be played here]"
        case _:
            return "text", f"[resource {content['uri']}: c (about); read it with the read tool]"


def test_results_of_calls_and_prompts_are_parsed_as_by_the_sdk() -> None:
    limits = Limits(characters=1000)
    for raw, read in of("tools/call"):
        if server_messages.input_requests(raw) is not None:
            continue
        limited_result, is_error = call_result(raw, limits)
        filters = [expected(entry) for entry in read["content"]]
        if "structuredContent" in read:
            filters.append(("text", json.dumps(read["structuredContent"], indent=1)))
        assert [shape(block) for block in limited_result.blocks] == filters
        assert is_error == read.get("isError", False)
    for raw, read in of("prompts/get"):
        if server_messages.input_requests(raw) is None:
            shapes = [shape(block) for block in prompt_blocks(raw)]
            note = ("text", "[The prompt continues with an answer of the assistant:]")
            assert [block for block in shapes if block != note] == [
                expected(message["content"]) for message in read["messages"]
            ]
    for raw, read in of("resources/read"):
        if server_messages.input_requests(raw) is None:
            (block,) = resource_blocks(raw["contents"][0])
            content = read["contents"][0]
            assert content.get("text", "[a://1: binary data, unknown type, 3 bytes]") in str(block)


def test_the_handshake_is_parsed_as_by_the_sdk() -> None:
    for raw, read in of("initialize"):
        info = server_messages.parse_initialisation("s", raw)
        assert (info.version, info.name) == (read["protocolVersion"], read["serverInfo"]["name"])
        assert info.capabilities == read["capabilities"]
    for raw, read in of("server/discover"):
        modern = server_messages.parse_discovery(raw)
        assert modern is not None and modern.version in read["supportedVersions"]
        assert (modern.capabilities, modern.instructions) == (
            read["capabilities"],
            read["instructions"],
        )
        assert modern.name == read["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]


def test_completions_are_parsed_as_by_the_sdk() -> None:
    for raw, read in of("completion/complete"):
        assert server_messages.completions_of(raw) == read["completion"]["values"]


def test_requests_for_input_are_parsed_as_by_the_sdk() -> None:
    for method in ("tools/call", "prompts/get", "resources/read"):
        for raw, read in of(method):
            needed = server_messages.input_requests(raw)
            assert (needed is not None) == (read.get("resultType") == "input_required")
            if needed is not None:
                requests, state = needed
                assert [request["method"] for request in requests.values()] == [
                    request["method"] for request in read["inputRequests"].values()
                ]
                assert state == read.get("requestState")


# What we send -------------------------------------------------------------------------------------


class RecordingTransport:
    """Records messages and answers requests."""

    era: Era | None

    def __init__(self, era: Era) -> None:
        self.era = era
        self.sent: list[dict[str, Any]] = []
        self._peer: Peer
        self._asked = 0

    async def open(self, peer: Peer) -> None:
        self._peer = peer

    async def send(self, message: dict[str, Any], *, schema: Any = None) -> None:
        self.sent.append(message)
        if "id" in message and "method" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)}
            asyncio.get_running_loop().call_soon(self._peer.receive, reply)

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"logging": {}}
        match message["method"]:
            case "initialize":
                return {"protocolVersion": protocol.HANDSHAKE[0], "capabilities": capabilities}
            case "server/discover":
                return {"supportedVersions": [protocol.MODERN], "capabilities": capabilities}
            case "tools/call" if self.era == "modern" and not self._asked:
                self._asked += 1
                needed = {"inputRequests": {"r": {"method": "roots/list"}}, "requestState": "s"}
                return {"resultType": "input_required", **needed}
            case _:
                return {}

    def connected(self, info: ServerInfo) -> None:
        pass

    def abandon(self, id: int) -> bool:
        return False

    async def close(self) -> None:
        pass


class Host:
    """Answers the requests of servers."""

    name, version = "s", "1"

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    def capabilities(self) -> dict[str, Any]:
        return client_messages.client_capabilities(has_ui=True)

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"roots": [{"uri": "file:///x", "name": "x"}]}

    def notified(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(method)

    def lost(self, error: Exception) -> None:
        raise AssertionError(error)

    def log(self, text: str) -> None:
        raise AssertionError(text)

    is_closed = False

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]


async def our_requests(era: Era) -> list[dict[str, Any]]:
    """The messages of one conversation that uses every method."""
    host, transport = Host(), RecordingTransport(era)
    client = Client(host, transport)
    await client.connect(era, 5)
    if host.tasks:
        await asyncio.wait(host.tasks)
    lists: tuple[tuple[str, Callable[[Any], list[Any]]], ...] = (
        ("tools/list", server_messages.tools_of),
        ("prompts/list", server_messages.prompts_of),
        ("resources/list", server_messages.resources_of),
        ("resources/templates/list", server_messages.templates_of),
    )
    for method, read in lists:
        await client.pages(method, read)
    how: dict[str, Any] = {"ask": host.answer}
    await client.interactive(
        "tools/call", {"name": "t", "arguments": {}}, progress=lambda *_: None, **how
    )
    await client.interactive("prompts/get", {"name": "p", "arguments": {"a": "1"}}, **how)
    await client.interactive("resources/read", {"uri": "a://b"}, **how)
    reference = {"type": "ref/prompt", "name": "p"}
    argument = {"name": "a", "value": "x"}
    await client.request("completion/complete", {"ref": reference, "argument": argument})
    if era == "modern":
        filters = {"toolsListChanged": True, "resourceSubscriptions": ["a://b"]}
        await client.request("subscriptions/listen", {"notifications": filters})
    else:
        await client.request("resources/subscribe", {"uri": "a://b"})
        await client.notify_roots()
    await client.notify("notifications/cancelled", {"requestId": 1, "reason": "x"})
    return transport.sent


async def test_sent_requests_equal_those_that_the_sdk_has_accepted() -> None:
    made = {era: await our_requests(era) for era in ("handshake", "modern")}
    assert made == json.loads(REQUESTS.read_text())


CHECK = """
import json, sys
from mcp_types.methods import validate_client_notification, validate_client_request
for era, version in (("handshake", "2025-11-25"), ("modern", "2026-07-28")):
    for message in json.load(open(sys.argv[1]))[era]:
        check = validate_client_request if "id" in message else validate_client_notification
        check(message["method"], version, message.get("params"))
"""


@needs_sdk
@pytest.mark.full
def test_the_installed_sdk_accepts_the_recorded_exchanges() -> None:
    files = HERE / "record_exchanges.py", HERE / "exchanges.json"
    record = [str(SDK), str(files[0]), "--check", str(files[1])]
    subprocess.run(record, check=True, timeout=60)
    subprocess.run([str(SDK), "-c", CHECK, str(REQUESTS)], check=True, timeout=60)


class SilentTransport(RecordingTransport):
    """Answers the handshake only."""

    def __init__(self, era: Era) -> None:
        super().__init__(era)
        self.asked = asyncio.Event()

    async def send(self, message: dict[str, Any], *, schema: Any = None) -> None:
        if message.get("method") == "tools/list":
            self.asked.set()
        else:
            await super().send(message, schema=schema)


async def test_a_request_cancelled_after_the_session_has_closed_starts_no_task() -> None:
    host, transport = Host(), SilentTransport("handshake")
    client = Client(host, transport)
    await client.connect("handshake", 5)
    request = asyncio.create_task(client.request("tools/list"))
    await transport.asked.wait()
    host.is_closed = True
    before = len(host.tasks)

    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request

    assert len(host.tasks) == before
