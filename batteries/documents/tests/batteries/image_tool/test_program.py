"""Pictures in the real program: a provider behind a gateway, saved files, and the HTML export."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.batteries.image_tool.test_sessions import ANSWER, PNG
from tests.cli.program import Program
from tests.stories.loopback_model import loopback_model


@contextmanager
def gateway(
    answer: object = ANSWER, header: str = "Authorization"
) -> Iterator[tuple[int, list[str]]]:
    """A server that returns pictures; yields its port and the paths and keys of its requests."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(f"{self.path} {self.headers[header]}")
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.full
def test_a_picture_comes_from_the_gateway_of_the_provider(tmp_path: Path) -> None:
    with loopback_model() as model, gateway() as (port, requests):
        cli = Program.below(tmp_path)
        cli.use_server(urlsplit(model.url).port or 0)
        path = cli.agent_dir / "models.json"
        models = json.loads(path.read_text())
        models["providers"]["openai"] = {"baseUrl": f"http://127.0.0.1:{port}/v1", "apiKey": "k"}
        path.write_text(json.dumps(models))
        cli.write("settings.json", json.dumps({"imageTool": {"enabled": True}}))
        model.tools = [("generate_image", {"prompt": "a fox"})]

        ended = cli.run("--model", "mock/echo-1", "-p", "draw")
        (file,) = cli.home.rglob("*.jsonl")
        exported = cli.run("--export", str(file), str(tmp_path / "page.html"))

    assert (ended.code, ended.err, exported.code) == (0, "", 0)
    assert requests == ["/v1/images/generations Bearer k"]
    assert (cli.cwd / "a-fox.png").read_bytes() == PNG
    assert base64.b64encode(PNG).decode() in (tmp_path / "page.html").read_text()


def test_pictures_of_google_need_only_its_general_key(tmp_path: Path) -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}
    answer = {"candidates": [{"content": {"parts": [part]}}]}
    with loopback_model() as model, gateway(answer, "x-goog-api-key") as (port, requests):
        cli = Program.below(tmp_path, GOOGLE_API_KEY="general")
        cli.use_server(urlsplit(model.url).port or 0)
        path = cli.agent_dir / "models.json"
        models = json.loads(path.read_text())
        models["providers"]["google"] = {"baseUrl": f"http://127.0.0.1:{port}/v1beta"}
        path.write_text(json.dumps(models))
        cli.write("settings.json", json.dumps({"imageTool": {"enabled": True}}))
        model.tools = [
            ("generate_image", {"prompt": "a fox"}),
            ("bash", {"command": "echo key=$GOOGLE_API_KEY."}),
        ]

        ended = cli.run("--model", "mock/echo-1", "-p", "draw")

    assert (ended.code, ended.err) == (0, "")
    assert requests == ["/v1beta/models/gemini-2.5-flash-image:generateContent general"]
    assert (cli.cwd / "a-fox.png").read_bytes() == PNG
    assert "key=." in model.requests[-1]
