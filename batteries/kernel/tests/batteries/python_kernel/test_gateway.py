"""A Jupyter gateway: its messages as frames, its failures, and the real thing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from pi.ai.messages import Image
from pi.ai.providers.faux import says
from pi.batteries.python_kernel.jupyter_gateway import frame_of
from scripts.workspace import ROOT
from tests.batteries.python_kernel.kernel_session import cells, details, results, session_of, texts

ORACLE = ROOT / ".oracles" / "python" / "bin" / "jupyter-kernelgateway"
ON = {"eval": {"py": True}}


@pytest.mark.parametrize(
    ("kind", "content", "frame"),
    [
        ("stream", {"name": "stdout", "text": "a"}, {"type": "stream", "text": "a"}),
        (
            "execute_result",
            {"data": {"text/plain": "1"}},
            {"type": "display", "data": {"text/plain": "1"}},
        ),
        (
            "error",
            {"traceback": ["\x1b[31mone\x1b[0m", "two"]},
            {"type": "error", "traceback": "one\ntwo\n"},
        ),
        ("input_request", {"prompt": "?"}, {"type": "input", "prompt": "?"}),
        ("execute_input", {"code": "1"}, None),
    ],
)
def test_messages_of_jupyter_become_frames(
    kind: str, content: dict[str, object], frame: dict[str, object] | None
) -> None:
    assert frame_of(kind, content) == frame


async def test_an_unreachable_gateway_is_reported_with_its_url(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    environ = {"PI_PYTHON_GATEWAY_URL": url}
    async with session_of(tmp_path, cells("1"), says("."), settings=ON, environ=environ) as session:
        await session.prompt("go")

        assert texts(session)[0].startswith(f"The Python gateway {url} cannot be reached")
        assert "Check PI_PYTHON_GATEWAY_URL" in texts(session)[0]


class FakeGateway:
    """A gateway whose kernels print nothing; ``kernels`` are those that exist."""

    def __init__(self) -> None:
        self.kernels: set[str] = set()
        self.created = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.path.endswith("/channels"):
            return await self._channels(request)
        if request.method == "POST":
            self.created += 1
            self.kernels.add(f"k{self.created}")
            return web.json_response({"id": f"k{self.created}"})
        if request.method == "DELETE":
            self.kernels.discard(request.path.rpartition("/")[2])
            return web.Response(status=204)
        return web.json_response({})

    async def _channels(self, request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            parent = json.loads(message.data)["header"]
            replies = (
                ("shell", "execute_reply", {"status": "ok", "execution_count": 1}),
                ("iopub", "status", {"execution_state": "idle"}),
            )
            for channel, kind, content in replies:
                header = {"msg_type": kind, "msg_id": f"{kind}-{parent['msg_id']}"}
                reply = {"header": header, "msg_type": kind, "parent_header": parent}
                await socket.send_json({**reply, "content": content, "channel": channel})
        return socket


@asynccontextmanager
async def fake_gateway() -> AsyncIterator[tuple[FakeGateway, str]]:
    fake = FakeGateway()
    runner = web.ServerRunner(web.Server(fake))
    await runner.setup()
    await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    try:
        yield fake, f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def test_kernels_of_a_gateway_are_deleted_with_the_last_session(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    async with fake_gateway() as (fake, url):
        environ = {"PI_PYTHON_GATEWAY_URL": url}
        steps = (cells("1"), says("."), cells("2"), says("."))
        async with session_of(tmp_path, *steps, settings=ON, environ=environ) as session:
            await session.prompt("go")
            await session.sessions.new()
            await session.prompt("go")
            assert fake.created == 2 and fake.kernels == {"k1", "k2"}
        assert fake.kernels == set()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "gateway"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "KG_AUTH_TOKEN": "secret"}
    argv = [str(ORACLE), f"--KernelGatewayApp.port={port}", "--KernelGatewayApp.ip=127.0.0.1"]
    server = subprocess.Popen(argv, env=environ, cwd=home, stderr=subprocess.PIPE)
    assert server.stderr is not None
    for line in server.stderr:
        if b"available at" in line:
            break
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.communicate(timeout=30)


@pytest.mark.full
@pytest.mark.skipif(not ORACLE.exists(), reason="scripts/oracles installs a kernel gateway")
async def test_cells_run_in_a_real_gateway(tmp_path: Path, gateway: str) -> None:
    pytest.importorskip("websockets")
    steps = (
        cells("x = 41", "x + 1", "status('train', epoch=1)"),
        cells("import time\nx = 7\nwhile True: time.sleep(0.01)", timeout=3),
        cells("x"),
        cells("1/0"),
        cells("input('name? ')"),
        cells("from IPython.display import Image\nimport matplotlib; matplotlib.use('agg')"),
        cells("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", timeout=60),
        cells("globals().get('x', 'fresh')", reset=True, timeout=60),
    )
    environ = {"PI_PYTHON_GATEWAY_URL": gateway, "PI_PYTHON_GATEWAY_TOKEN": "secret"}
    async with session_of(tmp_path, *steps, says("."), settings=ON, environ=environ) as session:
        await session.prompt("go")

        cell_texts = texts(session)
        assert cell_texts[0] == "[1/3]\n[2/3]\n42\n[3/3]"
        assert details(session, 0)["cells"][2]["statusEvents"] == [{"op": "train", "epoch": 1}]
        assert cell_texts[1].endswith("Command timed out after 3 seconds")
        assert cell_texts[2] == "7"
        assert "ZeroDivisionError" in cell_texts[3]
        assert "input() is not supported" in cell_texts[4]
        assert results(session)[4].is_error
        assert cell_texts[6] == "The Python kernel of the gateway died; its variables are lost."
        assert cell_texts[7] == "'fresh'"
        assert not [part for part in results(session)[7].content if isinstance(part, Image)]


@pytest.mark.full
@pytest.mark.skipif(not ORACLE.exists(), reason="scripts/oracles installs a kernel gateway")
async def test_a_refused_token_is_explained(tmp_path: Path, gateway: str) -> None:
    pytest.importorskip("websockets")
    environ = {"PI_PYTHON_GATEWAY_URL": gateway, "PI_PYTHON_GATEWAY_TOKEN": "wrong"}
    async with session_of(tmp_path, cells("1"), says("."), settings=ON, environ=environ) as session:
        await session.prompt("go")

        assert "Set PI_PYTHON_GATEWAY_TOKEN" in texts(session)[0]
