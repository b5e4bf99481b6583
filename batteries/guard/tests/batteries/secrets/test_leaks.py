"""No secret reaches a provider, a log, an export, a share or a report."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.define import make_tool
from pi.ai.messages import Image
from pi.ai.providers.faux import Step, calls, says
from pi.ai.wires import WIRES
from pi.batteries.secrets.adapter import extension
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.results import SubSession
from pi.extension import ExtensionAPI, PiError
from pi.testing import FakeClock
from tests.batteries.secrets.corpus import Corpus
from tests.coding.extension_host.extension_session import ExtensionFixture
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

CORPUS = Corpus()
SAMPLE = ("anthropic-messages", "openai-completions", "openai-responses")
"""The wires of the default suite; the others differ in the form of the same parts."""


_ACCOUNT = json.dumps({"https://api.openai.com/auth": {"chatgpt_account_id": "a"}}).encode()
KEYS = {"openai-codex-responses": f"h.{base64.urlsafe_b64encode(_ACCOUNT).decode()}.s"}
"""Keys that have to have a form."""


class Recorder:
    """Keeps every byte of every request and answers with an error."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.url = ""

    @property
    def all(self) -> bytes:
        return b"\n".join(self.bodies)


@contextmanager
def recorder() -> Iterator[Recorder]:
    made = Recorder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            made.bodies.append(self.path.encode() + b"\n" + self.rfile.read(size))
            self.send_response(503)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:
            """Quietly."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def picture(text: str) -> Image:
    """A PNG with a text in its metadata, plain and compressed."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        size, crc = struct.pack(">I", len(data)), struct.pack(">I", zlib.crc32(kind + data))
        return size + kind + data + crc

    plain = chunk(b"tEXt", b"Comment\0" + text.encode())
    packed = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(text.encode()))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    raw = b"\x89PNG\r\n\x1a\n" + head + plain + packed + data + chunk(b"IEND", b"")
    return Image(data=base64.b64encode(raw).decode(), mime_type="image/png")


def talkative(url: str, pi: ExtensionAPI) -> None:
    """An extension that puts secrets wherever it can, and has a model on every wire."""
    for api in WIRES:
        model = {"id": "m", "input": ["text", "image"], "contextWindow": 1_000_000}
        row = {"api": api, "base_url": url, "api_key": KEYS.get(api, "k"), "models": (model,)}
        pi.register_provider(f"on-{api}", row)
    pi.add_section("talk", CORPUS.text())
    schema = {
        "type": "object",
        "properties": {
            "word": {"type": "string", "description": CORPUS.text(), "enum": [CORPUS.text()]}
        },
    }

    async def talk(params: Any, ctx: Any) -> str:
        return CORPUS.text()

    pi.register_tool(make_tool(name="talk", description=CORPUS.text(), params=schema, run=talk))

    @pi.command("title")
    async def title(arguments: str, ctx: Any) -> None:
        await pi.models.complete(f"A title for {CORPUS.text()}")

    @pi.command("nested")
    async def nested(arguments: str, ctx: Any) -> None:
        await (await pi.sub_session(SubSession(prompt=CORPUS.text()))).result()

    @pi.on("before_provider_request")
    async def last(event: Any, ctx: Any) -> Any:
        return {**event.payload, "metadata": {"user_id": CORPUS.text()}}


@asynccontextmanager
async def talking(
    tmp_path: Path, server: Recorder, *steps: Step, retries: int = 0
) -> AsyncIterator[ExtensionFixture]:
    """A session that knows the corpus, and has a model on every wire."""
    fixture = SessionFixture(tmp_path, *steps, environ={**ENVIRON, **CORPUS.environ})
    fixture.write(".pi/agent/secrets.yml", CORPUS.yaml)
    fixture.write("project/AGENTS.md", CORPUS.text())
    fixture.write("project/all.txt", CORPUS.text())
    settings = {
        "secrets": {"enabled": True},
        "compaction": {"keepRecentTokens": 100},
        "retry": {"enabled": retries > 0, "maxRetries": retries, "baseDelayMs": 1},
    }
    chosen = ExtensionOptions(discover=False, inline=(extension, partial(talkative, server.url)))
    session = await fixture.open(extensions=chosen, settings=settings, approve=True)
    try:
        await session.start()
        yield ExtensionFixture(fixture, session)
    finally:
        await session.close()


HISTORY = (
    calls("read", path="all.txt"),
    calls("write", path="copy.txt", content=CORPUS.text()),
    says(CORPUS.text()),
)


@pytest.mark.behaviour("secrets-are-hidden-everywhere")
@pytest.mark.parametrize(
    "api",
    [pytest.param(each, marks=() if each in SAMPLE else pytest.mark.full) for each in WIRES],
)
async def test_no_request_of_any_wire_contains_a_secret(tmp_path: Path, api: str) -> None:
    with recorder() as server:
        async with talking(tmp_path, server, *HISTORY) as hosted:
            session = hosted.session
            await session.prompt(CORPUS.text(), images=(picture(CORPUS.text()),))
            await session.models.select_id(f"on-{api}", "m")
            await session.prompt("go on")

            assert len(server.bodies) == 1, hosted.fixture.events[-1]
            assert len(server.bodies[0]) > 50_000
            assert b"$env:S" in server.bodies[0]
            assert CORPUS.leaks(server.all) == []
            assert hosted.failures == []


async def _passing(clock: FakeClock) -> None:
    """Ends every wait before a retry."""
    while True:
        await asyncio.sleep(0.01)
        if clock.sleeping:
            await clock.advance(60)


async def test_summaries_titles_nested_sessions_and_retries_contain_no_secret(
    tmp_path: Path,
) -> None:
    with recorder() as server:
        async with talking(tmp_path, server, *HISTORY, retries=2) as hosted:
            session = hosted.session
            await session.prompt(CORPUS.text())
            first = session.entries.log.branch()
            start = next(e.id for e in first if getattr(e, "message", None) is not None)
            await session.models.select_id("on-openai-completions", "m")
            counts = []
            clock = asyncio.create_task(_passing(hosted.fixture.clock))
            for work in (
                lambda: session.prompt("go on"),
                lambda: session.prompt("/title"),
                lambda: session.prompt("/nested"),
                lambda: session.compaction.compact("be brief"),
                lambda: session.tree.go_to(start, summarize=True),
            ):
                before = len(server.bodies)
                try:
                    await work()
                except Exception as error:
                    assert "503" in str(error) or "summar" in str(error).lower(), error
                counts.append(len(server.bodies) - before)

            clock.cancel()
            assert all(counts), counts
            assert counts[0] > 1, "the request was repeated"
            assert CORPUS.leaks(server.all) == []


@pytest.mark.behaviour("dumps-carry-no-keys")
@pytest.mark.parametrize(
    "forms",
    [
        (("text", "export"), ("jsonl", "share")),
        pytest.param(
            tuple(product(("html", "markdown", "text", "jsonl"), ("export", "share", "collab"))),
            marks=pytest.mark.full,
        ),
    ],
    ids=["sample", "all"],
)
async def test_exports_shares_and_logs_contain_no_secret(tmp_path: Path, forms: Any) -> None:
    with recorder() as server:
        async with talking(tmp_path, server, *HISTORY) as hosted:
            session = hosted.session
            await session.prompt(CORPUS.text())

            for form, sink in forms:
                data = await session.exports.render(form, sink)
                assert CORPUS.leaks(data) == [], (form, sink)
            page = (await session.exports.write(str(tmp_path / "page.html"))).read_bytes()
            assert CORPUS.leaks(page) == []
            logged = session.extensions.hosting.host.registries.redacted(CORPUS.text(), "log")
            assert CORPUS.leaks(logged.encode()) == []
            assert CORPUS.leaks(str(session.exports.redact(CORPUS.text(), "log")).encode()) == []


async def test_tool_calls_run_with_the_real_values(tmp_path: Path) -> None:
    """Placeholders in a ``write`` of the model are restored byte for byte on disk."""
    with recorder() as server:
        sent: list[str] = []

        def echoing(request: Any) -> Any:
            """A model that writes the text of the file that it has read."""
            sent.append(request.messages[-1].text)
            return calls("write", path="copy.txt", content=request.messages[-1].text)

        steps = (calls("bash", command="cat all.txt"), echoing, says("ok"))
        async with talking(tmp_path, server, *steps) as hosted:
            await hosted.session.prompt("go")

            assert CORPUS.leaks(sent[0].encode()) == []
            copy = tmp_path / "home/project/copy.txt"
            assert copy.read_text() == CORPUS.text()


async def test_a_broken_secrets_file_blocks_requests_and_shares(tmp_path: Path) -> None:
    with recorder() as server:
        fixture = SessionFixture(tmp_path, says("ok"))
        fixture.write(".pi/agent/secrets.yml", "- type: plain")
        chosen = ExtensionOptions(discover=False, inline=(extension,))
        settings = {"secrets": {"enabled": True}, "retry": {"enabled": False}}
        session = await fixture.open(extensions=chosen, settings=settings)
        try:
            await session.start()
            answer = await session.prompt("go")

            assert answer is not None
            assert "Entry 1: content must be a text" in str(answer.error_message)
            assert fixture.provider.requests == []
            assert server.bodies == []
            with pytest.raises(PiError, match="Secrets cannot be hidden"):
                await session.exports.render("text", "share")
            assert session.exports.redact("words", "log") == "words"
        finally:
            await session.close()


def test_the_leak_search_finds_every_unmasked_secret() -> None:
    text = CORPUS.text()

    assert len(CORPUS.secrets) >= 200
    assert len(CORPUS.leaks(text.encode())) == len(CORPUS.secrets)
    image = base64.b64decode(picture(text).data)
    assert len(CORPUS.leaks(base64.b64encode(image))) > 100
