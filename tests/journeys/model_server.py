"""A model server on loopback that follows a script and records what it received."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

DEFAULT_TEXT = "All is well."
"""The answer to a request for which nothing is scripted."""


@dataclass(frozen=True)
class Answer:
    """One response: text, then tool calls, or an HTTP error."""

    text: str = ""
    calls: tuple[tuple[str, Json | str], ...] = ()
    """Tools, with their arguments; a string is sent as it is, also if it is not JSON."""
    status: int = 200
    error: str | Json = ""
    """The message, or the whole body."""
    headers: Json = field(default_factory=dict)
    """Further headers of an error."""
    released: threading.Event | None = None
    """The server sends the first half of the text, then waits for this."""
    is_cut: bool = False
    """Whether the connection closes after the text, before the end of the answer."""
    usage: Json = field(default_factory=lambda: {"prompt_tokens": 10, "completion_tokens": 5})


def says(text: str) -> Answer:
    """Return an answer of text."""
    return Answer(text=text)


def calls(tool: str, /, text: str = "", **arguments: Any) -> Answer:
    """Return an answer that calls one tool."""
    return Answer(text=text, calls=((tool, arguments),))


def fails(status: int, error: str | Json, **headers: str) -> Answer:
    """Return an HTTP error; header names with ``_`` for ``-``."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, error=error, headers=fields)


class ModelServer:
    """Serves Chat Completions; ``url`` is the address, ``requests`` are the received bodies."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        """The headers of each request, names in lower case."""
        self.models = ["one"]
        """Ids of the listed models."""
        self._script: deque[Answer] = deque()
        self._rules: list[tuple[str, Answer]] = []
        self._changed = threading.Condition()
        self._waiting = 0
        self._answering = 0

    def script(self, *answers: Answer) -> None:
        """Append answers; each request that no rule matches takes the next one."""
        self._script.extend(answers)

    def says(self, *texts: str) -> None:
        """Append answers of text."""
        self.script(*(says(text) for text in texts))

    def calls(self, tool: str, /, **arguments: Any) -> None:
        """Append an answer that calls one tool."""
        self.script(calls(tool, **arguments))

    def when(self, text: str, answer: Answer) -> None:
        """Send ``answer`` whenever ``text`` occurs in the body of a request, before the script."""
        self._rules.append((text, answer))

    def hold(self, text: str) -> threading.Event:
        """Append an answer that stops in the middle until the returned event is set."""
        released = threading.Event()
        self.script(Answer(text=text, released=released))
        return released

    @property
    def is_answering(self) -> bool:
        """Whether an answer has begun and not ended."""
        return self._answering > 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count an answer while it is sent."""
        with self._changed:
            self._answering += 1
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1

    @property
    def unused(self) -> int:
        """The number of scripted answers that no request has taken."""
        return len(self._script)

    def forget_script(self) -> None:
        """Drop the scripted answers that no request has taken."""
        self._script.clear()

    @property
    def last(self) -> Json:
        """The body of the last request."""
        return self.requests[-1]

    def wait_for_requests(self, count: int, seconds: float = 60.0) -> None:
        """Wait until this many requests have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.requests) >= count, seconds)
        assert arrived, f"{len(self.requests)} requests, expected {count}"

    def receives(self, text: str, seconds: float) -> bool:
        """Return whether a request with ``text`` has arrived, or does so in this time."""
        with self._changed:
            return self._changed.wait_for(lambda: text in json.dumps(self.requests), seconds)

    def wait_until_held(self, seconds: float = 60.0) -> None:
        """Wait until an answer of ``hold`` has sent its first half."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._waiting > 0, seconds), "nothing is held"

    def tools_of(self, index: int = -1) -> list[str]:
        """The names of the tools that a request declared."""
        return [tool["function"]["name"] for tool in self.requests[index].get("tools", [])]

    def results_of(self, index: int = -1) -> list[str]:
        """The texts of the tool results in a request."""
        messages = self.requests[index]["messages"]
        return [_text(message) for message in messages if message["role"] == "tool"]

    def prompt_of(self, index: int = -1) -> str:
        """The system prompt of a request."""
        messages = self.requests[index]["messages"]
        return "\n".join(_text(m) for m in messages if m["role"] in ("system", "developer"))

    def take(self, body: bytes, headers: dict[str, str]) -> Answer:
        """Record a request and return its answer."""
        text = body.decode()
        with self._changed:
            self.requests.append(json.loads(text))
            self.headers.append(headers)
            self._changed.notify_all()
            for part, answer in self._rules:
                if part in text:
                    return answer
            return self._script.popleft() if self._script else says(DEFAULT_TEXT)

    def wait_for_release(self, released: threading.Event) -> None:
        """Wake ``wait_until_held``, then wait."""
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
        released.wait(60)


def _text(message: Json) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def _chunks(answer: Answer) -> list[Json]:
    """Return the streamed chunks: the text in two halves, the calls, the reason of the end."""
    half = len(answer.text) // 2
    deltas: list[Json] = [{"content": answer.text[:half]}, {"content": answer.text[half:]}]
    for index, (tool, arguments) in enumerate(answer.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": tool, "arguments": text}
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
    chunks = [_chunk(delta) for delta in deltas]
    chunks.append(_chunk({}, "tool_calls" if answer.calls else "stop"))
    return [*chunks, {**_chunk({}), "choices": [], "usage": answer.usage}]


def _chunk(delta: Json, reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "model": "one", "choices": [choice]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def do_GET(self) -> None:
        listed = {"object": "list", "data": [{"id": id} for id in self.model.models]}
        self._send_json(200, listed)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.model.take(body, headers)
        with self.model.answering(), suppress(ConnectionError):  # pi may have cancelled it
            if answer.status != 200:
                error = answer.error
                value = {"error": {"message": error}} if isinstance(error, str) else error
                self._send_json(answer.status, value, answer.headers)
            else:
                self._stream(answer)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for index, chunk in enumerate(_chunks(answer)):
            if index == 1 and answer.released is not None:
                self.model.wait_for_release(answer.released)
            if index == 2 and answer.is_cut:
                return
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def _send_json(self, status: int, value: Json, headers: Json | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that pi has closed."""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Run a model server during the block."""
    model = ModelServer()
    handler = type("Handler", (_Handler,), {"model": model})
    with _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
