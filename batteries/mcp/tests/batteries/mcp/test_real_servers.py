"""Real servers from PyPI and npm, and a real kill of pi."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts.workspace import ROOT
from tests.batteries.mcp.http_server import http_server
from tests.batteries.mcp.mcp_session import Answers, is_running, mcp_session, program, write_json

pytestmark = pytest.mark.full
PYTHON = ROOT / ".oracles" / "python" / "bin"
EVERYTHING = ROOT / ".oracles" / "node" / "node_modules" / ".bin" / "mcp-server-everything"
needs_python = pytest.mark.skipif(
    not (PYTHON / "mcp-server-time").exists(),
    reason="servers of PyPI are missing (scripts/oracles)",
)
needs_node = pytest.mark.skipif(
    not EVERYTHING.exists(), reason="server-everything is missing (scripts/oracles)"
)
ENVIRON = {**os.environ, "LANG": "C.UTF-8"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(*command: str | Path, port: int) -> Iterator[None]:
    """A server that listens on a port."""
    with subprocess.Popen(
        [*map(str, command)],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    try:
                        child.wait(0.05)
                    except subprocess.TimeoutExpired:
                        continue
                    raise
            yield
        finally:
            child.kill()


class FormUser(Answers):
    """Fills in forms: the first choice, or a text that fits the question."""

    async def select(self, title: str, options: Any, **how: Any) -> Any:
        """The first option."""
        self.titles.append(title)
        first = getattr(options[0], "label", options[0])
        return [first] if how.get("multi") else first

    async def input(self, title: str, placeholder: str = "", **how: Any) -> Any:
        """A text that fits the question."""
        self.titles.append(title)
        for word, value in (("email", "a@b.org"), ("URI", "https://b.org"), ("Number", "5")):
            if word.lower() in title.lower():
                return value
        return placeholder or "1999-12-31"


@needs_node
@pytest.mark.parametrize("transport", ["stdio", "streamableHttp", "sse"])
async def test_server_everything_works_over_every_transport(tmp_path: Path, transport: str) -> None:
    port, ui = free_port(), FormUser()
    definition: dict[str, Any] = {"command": str(EVERYTHING), "args": ["stdio"]}
    if transport != "stdio":
        path = "mcp" if transport == "streamableHttp" else "sse"
        definition = {"url": f"http://127.0.0.1:{port}/{path}"}

    async def use() -> None:
        async with mcp_session(tmp_path, {"e": definition}, ui=ui, steps=3) as mcp:
            assert await mcp.text("mcp__e__echo", message="hi") == "Echo: hi"
            cwd = mcp.pi.context.cwd.as_uri()
            assert cwd in await mcp.text("mcp__e__get-roots-list")
            sampled = await mcp.text("mcp__e__trigger-sampling-request", prompt="x", maxTokens=9)
            assert '"text": "ok"' in sampled
            form = await mcp.text("mcp__e__trigger-elicitation-request")
            assert '"action": "accept"' in form
            assert "[image]" in await mcp.text("mcp__e__get-tiny-image")
            done = await mcp.text("mcp__e__trigger-long-running-operation", duration=1, steps=2)
            assert "completed" in done
            listed = await mcp.text("read", path="mcp://e")
            first = listed.split(" ")[0]
            assert len(await mcp.text("read", path=first)) > 100

    if transport == "stdio":
        await use()
        return
    with running(EVERYTHING, transport, port=port):
        await use()


@needs_python
async def test_servers_of_pypi_use_the_modern_protocol(tmp_path: Path) -> None:
    requested: list[str] = []

    async def page(request: Any, writer: Any) -> tuple[int, dict[str, str], bytes]:
        requested.append(request.path)
        return 200, {"Content-Type": "text/html"}, b"<html><body><h1>Whales</h1></body></html>"

    fetch = {
        "command": str(PYTHON / "mcp-server-fetch"),
        "args": ["--ignore-robots-txt", "--allow-private-ips"],
        "env": {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
    }
    servers = {
        "fetch": fetch,
        "time": {"command": str(PYTHON / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
    }
    async with http_server(page) as url, mcp_session(tmp_path, servers) as mcp:
        assert "datetime" in await mcp.text("mcp__time__get_current_time", timezone="UTC")
        assert mcp.server("time").info.version == "2026-07-28"  # type: ignore[union-attr]
        assert mcp.server("fetch").info.version == "2026-07-28"  # type: ignore[union-attr]
        fetched = await mcp.call("mcp__fetch__fetch", url=f"{url}/page")
        assert not fetched.is_error and "Whales" in str(fetched)
        assert requested == ["/page"]


class Browser(Answers):
    """Opens pages as a browser would."""

    async def input(self, title: str, placeholder: str = "", **how: Any) -> Any:
        """Never pastes an address."""
        await asyncio.Event().wait()

    def open_url(self, url: str) -> None:
        """Follow the redirects to the callback."""
        self.opened.append(url)
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, lambda: urllib.request.urlopen(url, timeout=10).read())


@needs_python
async def test_a_login_is_renewed_before_it_expires(
    tmp_path: Path,
) -> None:
    port, ui = free_port(), Browser()
    with running(
        PYTHON / "python", Path(__file__).with_name("oauth_program.py"), str(port), "60", port=port
    ):
        servers = {"g": {"url": f"http://127.0.0.1:{port}/mcp"}}
        async with mcp_session(tmp_path, servers, ui=ui, steps=2) as mcp:
            assert mcp.tools == () and "needs a login" in ui.notices[0]
            async with asyncio.timeout(30):
                await mcp.hosted.session.prompt("/mcp reauth g")
            first = int(await mcp.text("mcp__g__renewals"))
            assert int(await mcp.text("mcp__g__renewals")) == first
            await mcp.hosted.fixture.clock.advance(55)
            assert int(await mcp.text("mcp__g__renewals")) > first


def test_no_server_process_remains_after_pi_is_killed(tmp_path: Path) -> None:
    home, mark = tmp_path / "home", tmp_path / "pid"
    definition = program("modern")
    script = (
        "import os, subprocess, sys; child = subprocess.Popen(['sleep', '600']);"
        f"open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}\\n');"
        f"sys.argv = ['x', 'modern']; exec(open({definition['args'][1]!r}).read())"
    )
    server = {"command": sys.executable, "args": ["-c", script]}
    write_json(home / ".pi" / "agent" / "mcp.json", {"mcpServers": {"s": server}})
    (home / "project").mkdir()
    with subprocess.Popen(
        [ROOT / "pi", "--mode", "rpc", "--model", "demo/tour"],
        cwd=home / "project",
        env={**ENVIRON, "HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as child:
        wait_for(lambda: mark.exists() and mark.read_text().endswith("\n"))
        pids = [int(word) for word in mark.read_text().split()]
        assert all(map(is_running, pids))
        child.send_signal(signal.SIGKILL)
        child.wait()
    wait_for(lambda: not any(map(is_running, pids)))


def wait_for(is_true: Any) -> None:
    """Wait for at most 30 seconds."""

    async def wait() -> None:
        async with asyncio.timeout(30):
            while not is_true():  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.02)

    asyncio.run(wait())


def test_an_untrusted_repository_starts_nothing(tmp_path: Path) -> None:
    home, mark = tmp_path / "home", tmp_path / "started"
    evil = {"command": "sh", "args": ["-c", f"echo x > {mark}"]}
    write_json(home / ".pi" / "agent" / "settings.json", {"mcp": {"enabled": True}})
    for file in (".mcp.json", ".pi/mcp.json", ".cursor/mcp.json", "mcp.json"):
        write_json(home / "project" / file, {"mcpServers": {"evil": evil}})
    done = subprocess.run(
        [ROOT / "pi", "--model", "demo/tour", "--mode", "json", "-p", "hello"],
        cwd=home / "project",
        env={**ENVIRON, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert not mark.exists()
    types = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert "agent_end" in types


def test_servers_are_managed_in_the_shell(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)

    def run(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [ROOT / "pi", "mcp", *arguments],
            cwd=home / "project",
            env={**ENVIRON, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    definition = program("modern")
    assert run("add", "s", "--env", "K=1", "--", definition["command"], *definition["args"])[0] == 0
    assert "s: starts at its first call" in run("list")[1]
    assert "works: program 1, protocol 2026-07-28, 11 tools" in run("test", "s")[1]
    assert "11 tools" in run("list")[1]
    assert run("add", "t", "/no/such")[0] == 0
    code, _, errors = run("test", "t")
    assert code == 1 and "there is no such program" in errors
    assert run("remove", "t")[1] == "Removed MCP server t.\n"
    code, _, errors = run("frobnicate")
    assert code == 1 and "Usage: /mcp list" in errors
