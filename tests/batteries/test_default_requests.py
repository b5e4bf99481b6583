"""With default settings, installed batteries change nothing that a model is sent."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, TypeAlias

import pytest

from pi.coding.extension_host.discovery.entry_points import FILE as INDEX
from tests.batteries.test_bundled import POINTS, install
from tests.cli.program import Program
from tests.sampling import sampled

WIRES = (
    "openai-completions",
    "openai-responses",
    "anthropic-messages",
    "google-generative-ai",
    "mistral-conversations",
)


Request: TypeAlias = tuple[str, tuple[tuple[str, str], ...], bytes]
"""Path, headers and body."""


class Recorder(BaseHTTPRequestHandler):
    """Records requests and refuses them: the first one is enough."""

    requests: ClassVar[list[Request]]

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.requests.append((self.path, tuple(self.headers.items()), self.rfile.read(length)))
        self.send_response(400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def recorder() -> Iterator[tuple[int, list[Request]]]:
    class OwnRecorder(Recorder):
        requests: ClassVar[list[Request]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), OwnRecorder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port, OwnRecorder.requests
        finally:
            server.shutdown()
            thread.join()


def first_request(
    cli: Program, wire: str, *words: str, index: object = None
) -> tuple[str, object, bytes]:
    """The first request of a new user; ``index`` replaces the index of installed extensions."""
    shutil.rmtree(cli.agent_dir, ignore_errors=True)
    if index is not None:
        cli.write(INDEX, json.dumps(index))
    with recorder() as (port, requests):
        models = [{"id": "m", "input": ["text"], "reasoning": False}]
        provider = {"api": wire, "apiKey": "k", "models": models}
        provider["baseUrl"] = f"http://127.0.0.1:{port}/v1"
        cli.write("models.json", json.dumps({"providers": {"mock": provider}}))
        cli.write("settings.json", '{"retry": {"enabled": false}}')
        cli.run("-p", "--model", "mock/m", "--session-id", "one-and-the-same", *words, "hello")
    path, headers, body = requests[0]
    port_free = {name: value.replace(str(port), "PORT") for name, value in headers}
    return path, port_free, body


@pytest.mark.parametrize("wire", sampled(WIRES, keep=1))
def test_the_first_request_is_the_same_with_all_batteries_and_with_none(
    tmp_path: Path, wire: str
) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1", PYTHONPATH=str(install(tmp_path / "installed")))
    every = first_request(cli, wire)
    index = json.loads((cli.agent_dir / INDEX).read_bytes())
    assert {entry["value"] for entry in index["entries"]} >= {*POINTS.values()}

    none = first_request(cli, wire, index={**index, "entries": []})

    assert json.loads((cli.agent_dir / INDEX).read_bytes())["entries"] == []
    assert every == none
    assert b"hello" in none[2]


@pytest.mark.full
def test_the_recommended_set_changes_the_first_request(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1", PYTHONPATH=str(install(tmp_path / "installed")))

    _, _, plain = first_request(cli, WIRES[0], "--batteries", "none")
    _, _, recommended = first_request(cli, WIRES[0], "--batteries", "recommended")

    tools = [tool["function"]["name"] for tool in json.loads(plain)["tools"]]
    assert tools == ["read", "bash", "edit", "write"]
    more = {tool["function"]["name"] for tool in json.loads(recommended)["tools"]}
    assert more >= {*tools, "todo"}


def test_an_unknown_set_is_refused(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)

    ended = cli.run("-p", "--batteries", "all", "hello")

    assert ended.code == 1
    assert 'Invalid set of batteries "all". Valid values: recommended, none' in ended.err
