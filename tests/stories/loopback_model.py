"""A local model server that records its requests and sends scripted responses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackModel:
    """Serves chat completions; ``requests`` are the request bodies, ``url`` is the address."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.command = ""
        """A command that the first response runs with the bash tool."""
        self.calls: list[dict[str, Any]] = []
        """Arguments of further bash calls, one per response."""
        self.tools: list[tuple[str, dict[str, Any]]] = []
        """Calls of any tool with their arguments, one per response."""
        self.listed: list[str] = []
        """Ids of the listed models."""
        self.url = ""

    def answer(self, body: str) -> list[dict[str, Any]]:
        """Return the chunks of the next response."""
        self.requests.append(body)
        if self.command and '"role":"tool"' not in body.replace(" ", ""):
            return _bash({"command": self.command})
        if self.calls:
            return _bash(self.calls.pop(0))
        if self.tools:
            return _call(*self.tools.pop(0))
        return [_chunk({"content": "All is well."}), _chunk({}, "stop")]


def _bash(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    return _call("bash", arguments)


def _call(tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)},
    }
    return [_chunk({"tool_calls": [call]}), _chunk({}, "tool_calls")]


def _chunk(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


@contextmanager
def loopback_model() -> Iterator[LoopbackModel]:
    """Run a model server during the block."""
    model = LoopbackModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            data = json.dumps({"data": [{"id": id} for id in model.listed]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in model.answer(body)]
            data = "".join([*lines, "data: [DONE]\n\n"]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
