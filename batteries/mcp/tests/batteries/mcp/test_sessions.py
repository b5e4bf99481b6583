"""Connections of several sessions, the screen, and logins."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.mcp.adapter import McpCommands
from pi.batteries.mcp.views import ServersScreen
from pi.coding.port.drawing import PlainTheme
from pi.extension import SubSession
from tests.batteries.mcp.http_server import FakeServer, Reply, Request, http_server
from tests.batteries.mcp.mcp_session import (
    HANDSHAKE,
    Answers,
    is_running,
    mcp_session,
    program,
    until,
)


async def test_nested_sessions_share_the_connections_of_their_parent(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    steps = (says("ok"), calls("mcp__s__echo", text="nested"), says("done"))
    servers = {"s": program("modern", f"pids:{pids}")}
    async with mcp_session(tmp_path, servers, steps=steps) as mcp:
        await mcp.text("mcp__s__echo")
        server = mcp.server("s")
        handle = await mcp.pi.sub_session(SubSession(prompt="hello", extensions="all"))
        await handle.result()
        assert "You said nested." in str(handle.messages)
        assert server.state == "ready"
        assert "You said x" in await mcp.text("mcp__s__echo", text="x")
        (pid,) = pids.read_text().split()  # one program was started
        assert is_running(int(pid))


@pytest.mark.parametrize("era", [HANDSHAKE, "2024-11-05"])
async def test_a_server_is_notified_when_a_session_in_another_folder_joins_or_leaves(
    tmp_path: Path, era: str
) -> None:
    pids, other = tmp_path / "pids", tmp_path / "other"
    other.mkdir()
    servers = {"s": {**program(era, f"pids:{pids}"), "cwd": str(tmp_path)}}
    steps = (says("ok"), calls("mcp__s__echo", text="nested"), says("done"))
    async with mcp_session(tmp_path, servers, steps=steps) as mcp:
        lines, home = mcp.server("s").lines, mcp.pi.context.cwd
        task = SubSession(prompt="hello", extensions="all", cwd=other)
        handle = await mcp.pi.sub_session(task)
        await handle.result()
        await handle.close()
        assert "You said nested." in str(handle.messages)

        def reported() -> list[list[str]]:
            texts = [line.partition("roots: ")[2] for line in lines if "roots: " in line]
            return [[root["uri"] for root in json.loads(text)["roots"]] for text in texts]

        await until(lambda: len(reported()) == 2)
        assert reported() == [[home.as_uri(), other.as_uri()], [home.as_uri()]]
        assert len(pids.read_text().split()) == 1


async def test_a_modern_server_is_not_notified_of_roots(tmp_path: Path) -> None:
    servers = {"s": {**program("modern"), "cwd": str(tmp_path)}}
    (tmp_path / "other").mkdir()
    async with mcp_session(tmp_path, servers, steps=2) as mcp:
        task = SubSession(prompt="hello", extensions="all", cwd=tmp_path / "other")
        handle = await mcp.pi.sub_session(task)
        await handle.result()
        await mcp.text("mcp__s__echo")  # answered after anything that was sent before
        assert not any("roots" in line for line in mcp.server("s").lines)


async def test_a_server_without_a_working_directory_is_started_once_per_folder(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    (tmp_path / "other").mkdir()
    steps = (says("ok"), calls("mcp__s__echo", text="nested"), says("done"))
    servers = {"s": program("modern", f"pids:{pids}")}
    async with mcp_session(tmp_path, servers, steps=steps) as mcp:
        task = SubSession(prompt="hello", extensions="all", cwd=tmp_path / "other")
        await (await mcp.pi.sub_session(task)).result()
        assert len(pids.read_text().split()) == 2


class FakeTui:
    """The size of a screen."""

    def __init__(self) -> None:
        self.terminal = self
        self.size = self
        self.rows = 40

    def request_render(self) -> None:
        """Nothing is painted."""


async def test_the_screen_shows_servers_tools_errors_and_logs(tmp_path: Path) -> None:
    servers = {"bad": {"command": "/no/such"}, "good": program("modern", "orphan")}
    async with mcp_session(tmp_path, servers, ui=Answers()) as mcp:
        closed: list[Any] = []
        commands = McpCommands(mcp.mcp)
        screen = ServersScreen(commands, mcp.mcp, FakeTui(), PlainTheme(), closed.append)
        drawn = screen.render(120)
        assert any(row.startswith(" → bad") and "failed" in row for row in drawn)
        assert any("there is no such program" in row for row in drawn)
        screen.handle_input("\x1b[B")
        drawn = screen.render(120)
        assert any(row.startswith(" → good") and "ready · 11 tools" in row for row in drawn)
        assert any(row.strip().startswith("echo") for row in drawn)
        screen.handle_input("\t")
        assert any(row.strip().startswith("child ") for row in screen.render(120))
        screen.handle_input("t")
        await until(lambda: any("works: program 1" in row for row in screen.render(200)))
        assert all(len(row) <= 30 for row in screen.render(30))
        screen.handle_input("\x1b")
        assert closed == [None]


class AuthorizationServer:
    """A guarded server that is its own authorization server."""

    def __init__(self) -> None:
        self.fake = FakeServer("modern")
        self.fake.token = "never"
        self.base = ""
        self.forms: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.lifetime = 3600

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        """Handle a request."""
        path = request.path.partition("?")[0]
        match path:
            case "/.well-known/oauth-protected-resource/mcp":
                resource = {"resource": f"{self.base}/mcp", "authorization_servers": [self.base]}
                return self._json(resource | {"scopes_supported": ["use"]})
            case "/.well-known/oauth-authorization-server":
                return self._json(
                    {
                        "issuer": self.base,
                        "authorization_endpoint": f"{self.base}/authorize",
                        "token_endpoint": f"{self.base}/token",
                        "registration_endpoint": f"{self.base}/register",
                        "code_challenge_methods_supported": ["S256"],
                        **self.metadata,
                    }
                )
            case "/register":
                return self._json({"client_id": "c1"}, 201)
            case "/token":
                self.forms.append(request.body.decode())
                self.fake.token = f"token{len(self.forms)}"
                return self._json(
                    {
                        "access_token": self.fake.token,
                        "token_type": "Bearer",
                        "expires_in": self.lifetime,
                        "refresh_token": f"refresh{len(self.forms)}",
                    }
                )
            case _ if path.startswith("/.well-known"):
                return 404, {}, b""
            case _:
                return await self.fake(request, writer)

    def _json(self, value: Any, status: int = 200) -> Reply:
        return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


class Browser(Answers):
    """Agrees to every login: calls the callback with a code."""

    issuer = ""
    """Sent with the code if it is not empty."""

    async def input(self, title: str, placeholder: str = "", **how: Any) -> Any:
        """Never pastes an address."""
        await asyncio.Event().wait()

    def open_url(self, url: str) -> None:
        """Go to the callback at once."""
        self.opened.append(url)
        query = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
        back = f"{query['redirect_uri']}?code=abc&state={query['state']}"
        if self.issuer:
            back += f"&{urlencode({'iss': self.issuer})}"
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, _visit, back)


def _visit(url: str) -> None:
    try:
        urllib.request.urlopen(url, timeout=10).read()
    except urllib.error.HTTPError as error:
        error.close()  # the page of a refused login


async def test_a_login_registers_a_client_and_refused_tokens_are_renewed(tmp_path: Path) -> None:
    guarded, ui = AuthorizationServer(), Browser()
    async with http_server(guarded) as url:
        guarded.base = url
        servers = {"g": {"url": f"{url}/mcp"}}
        async with mcp_session(tmp_path, servers, ui=ui, steps=2) as mcp:
            assert "needs a login (status 401). Use /mcp reauth g." in ui.notices[0]
            async with asyncio.timeout(20):
                await mcp.hosted.session.prompt("/mcp reauth g")
            assert "scope=use" in ui.opened[0] and "resource=" in ui.opened[0]
            assert "resource=" in guarded.forms[0] and "code_verifier=" in guarded.forms[0]
            assert await mcp.text("mcp__g__echo", text="x") == "said x"
            renewals = len(guarded.forms)
            guarded.fake.token = "revoked"
            assert await mcp.text("mcp__g__echo", text="y") == "said y"
            assert len(guarded.forms) > renewals
            assert "grant_type=refresh_token" in guarded.forms[-1]
            await mcp.hosted.session.prompt("/mcp unauth g")
            assert "was removed" in ui.notices[-1]


@pytest.mark.parametrize(
    ("announced", "issuer", "refusal"),
    [
        (True, "{base}", ""),
        (True, "https://evil.example", "was answered by 'https://evil.example' instead of"),
        (True, "{base}/", "was answered by"),
        (True, "", "does not name its server"),
        (False, "https://evil.example", "was answered by 'https://evil.example' instead of"),
        (False, "", ""),
    ],
)
async def test_a_login_answered_by_another_authorization_server_is_refused(
    tmp_path: Path, *, announced: bool, issuer: str, refusal: str
) -> None:
    guarded, ui = AuthorizationServer(), Browser()
    guarded.metadata = {"authorization_response_iss_parameter_supported": announced}
    async with http_server(guarded) as url:
        guarded.base, ui.issuer = url, issuer.format(base=url)
        servers = {"g": {"url": f"{url}/mcp"}}
        async with mcp_session(tmp_path, servers, ui=ui, steps=2) as mcp:
            async with asyncio.timeout(20):
                await mcp.hosted.session.prompt("/mcp reauth g")
            if refusal:
                assert any(refusal in notice for notice in ui.notices), ui.notices
                assert guarded.forms == []  # the code is not sent to any server
            else:
                assert "code=abc" in guarded.forms[0]
