"""A scripted model on 127.0.0.1 that streams chat completions, for recordings.

Only the answers are scripted: pi sends real requests, runs the tools and draws the screen.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

PAUSE = 0.08
"""Seconds between two words, slow enough to be read."""


class Answer(NamedTuple):
    """One answer: text, then the call of a tool, if there is one."""

    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = {}


def chunks(answer: Answer, number: int) -> Iterator[dict[str, Any]]:
    """The deltas of an answer, word by word."""
    for word in answer.text.split(" "):
        yield _chunk({"content": f"{word} "})
    if answer.tool:
        function = {"name": answer.tool, "arguments": json.dumps(answer.arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        yield _chunk({"tool_calls": [call]})
    end = _chunk({}, "tool_calls" if answer.tool else "stop")
    # Grows with every request, so that the charts of usage have a shape.
    prompt, completion = 1800 + 900 * number, 40 + len(answer.text)
    yield end | {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def _chunk(delta: Mapping[str, Any], end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


@contextmanager
def serving(answers: Sequence[Answer], *, pause: float = PAUSE) -> Iterator[str]:
    """Serve the answers one after the other, by the number of tool results; yields the address.

    Without answers every request fails with status 529 (overloaded).
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Stream the next answer."""
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = sum(message["role"] == "tool" for message in body["messages"])
            if not answers:
                self.send_error(529)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            with suppress(BrokenPipeError, ConnectionResetError):  # the user has interrupted it
                for chunk in chunks(answers[number], number):
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                    self.wfile.flush()
                    time.sleep(pause)
                self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
