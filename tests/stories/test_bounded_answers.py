"""The memory of the real program is bounded with a hostile model server."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.bounded import Report, home_with_model, plain_environment, run_bounded
from tests.sampling import sampled

MB = 1024 * 1024


def chunk(delta: dict[str, Any], end: str | None = None) -> bytes:
    """Return one event of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def arguments(text: str, name: str | None = None) -> bytes:
    """Return a part of the arguments of a tool call."""
    head = {"id": "c1", "type": "function"} if name else {}
    function = {"name": name, "arguments": text} if name else {"arguments": text}
    return chunk({"tool_calls": [{"index": 0, **head, "function": function}]})


def endless_line() -> Iterator[bytes]:
    yield b"data: "
    for _ in range(400):
        yield b"a" * MB


def endless_comments() -> Iterator[bytes]:
    for _ in range(400):
        yield b": still here\n" * 80_000


def endless_arguments() -> Iterator[bytes]:
    yield arguments('{"path":"x","content":"', "write")
    for _ in range(200):
        yield arguments("a" * MB)


@contextmanager
def hostile_server(body: Callable[[], Iterator[bytes]], coding: str = "") -> Iterator[list[str]]:
    """Run a server whose every response is ``body``. Yields its address and the requested paths."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            paths.append(self.path)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            if coding:
                self.send_header("content-encoding", coding)
            self.end_headers()
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            try:
                for piece in body():
                    self.wfile.write(packer.compress(piece) if coding else piece)
                self.wfile.write(packer.flush() if coding else b"")
            except OSError:
                pass  # pi has closed the connection, as it should

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        paths.append(f"http://127.0.0.1:{server.server_port}/v1")
        try:
            yield paths
        finally:
            server.shutdown()
            thread.join()


def prompted(tmp_path: Path, url: str) -> Report:
    """Run ``pi -p`` with that server."""
    home_with_model(tmp_path / "home", url)
    environment = plain_environment(tmp_path / "home")
    return run_bounded(["-p", "--model", "mine/m", "hi"], tmp_path, cwd=tmp_path, env=environment)


@pytest.mark.parametrize(
    ("body", "coding", "limit"),
    sampled(
        [
            (endless_line, "gzip", "an event larger than the limit of 16 MiB"),
            (endless_comments, "", "an event larger than the limit of 16 MiB"),
            (endless_arguments, "", "exceeds the limit of 64 MiB of content"),
        ],
        keep=1,
    ),
)
def test_an_endless_response_ends_with_one_error_and_is_not_retried(
    tmp_path: Path, body: Callable[[], Iterator[bytes]], coding: str, limit: str
) -> None:
    with hostile_server(body, coding) as paths:
        report = prompted(tmp_path, paths[0])

    assert report.code == 1
    assert limit in report.stderr
    assert report.stderr.count(limit) == 1
    assert len(report.stderr.splitlines()) <= 2  # the error, and what to do
    assert len(paths) == 2  # the address, and one request
    report.check()
