"""Authorization code flow with PKCE: through a browser on this machine, or a pasted address."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from html import escape
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlencode

from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import AuthUrl, LoginInfo, LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.tokens import Tokens, request_tokens
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock, RandomBytes
from pi.base.records import Record

# Loopback callback --------------------------------------------------------------------------------


READ_SECONDS = 10.0
ANSWER_SECONDS = 2.0
"""Seconds that the end of a login waits for pages that are being sent to the browser."""
LARGEST_HEAD = 32 * 1024
MOST_IDLE = 32
"""Maximum of connections without a complete request, so that a flood leaves descriptors free."""
_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pi</title>
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}
@media (prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}</style></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""


_MIX_UP = "This may be an attempt to steal a login. Start again only if you trust the server."


class ExpectedIssuer(Record):
    """The authorization server that an answer has to name (RFC 9207).

    Without the check a malicious server can pass off the code of another one as its own, and pi
    would send that code to it.
    """

    name: str = ""
    """Empty if it is not known; then every answer is accepted."""
    is_required: bool = False
    """Whether the server announces that its answers name it."""

    def problem(self, issuer: str) -> str:
        """Why an answer with this ``iss`` is refused; empty if it is accepted."""
        if not self.name or issuer == self.name:
            return ""
        if issuer:
            return f"The login was answered by {issuer[:200]!r} instead of {self.name!r}."
        if self.is_required:
            return f"The answer to the login does not name its server {self.name!r}."
        return ""


class CallbackListener:
    """Listens on loopback only, until the browser sends a code.

    A request with another path or state is answered and ignored. If the port is taken,
    ``listening`` is False and the code has to be pasted. ``state`` is None for a vendor that sends
    none back; then the path has to be unguessable. ``issuer`` refuses answers of other servers.
    """

    def __init__(
        self, *, path: str, state: str | None, port: int = 0, issuer: ExpectedIssuer | None = None
    ) -> None:
        self._path = path
        self._state = state
        self._issuer = issuer or ExpectedIssuer()
        self._port = port
        self._servers: list[asyncio.Server] = []
        self._handlers: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.StreamWriter, None] = {}
        """Connections that have not sent a whole request yet, the oldest first."""
        self._closed = False
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def listening(self) -> bool:
        """Whether the port could be opened."""
        return bool(self._servers)

    @property
    def redirect_uri(self) -> str:
        """The redirect URI, known once the listener is entered."""
        return f"http://localhost:{self._port}{self._path}"

    async def code(self) -> str:
        """Wait for the code; raises ``LoginFailed`` if the user or the vendor refused."""
        return await asyncio.shield(self._code)

    async def __aenter__(self) -> Self:
        for sock in self._sockets():
            self._servers.append(
                await asyncio.start_server(self._serve_connection, sock=sock, limit=LARGEST_HEAD)
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.close()
        self._closed = True
        # Not cancelled: Python 3.11 prints a traceback for a cancelled connection handler.
        for writer in self._idle:
            writer.transport.abort()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=ANSWER_SECONDS)
        for server in self._servers:
            await server.wait_closed()
        if self._code.done():
            self._code.exception()  # retrieved, also if a code was pasted first
        self._code.cancel()

    def _sockets(self) -> list[socket.socket]:
        """Return sockets for both loopback addresses on one port; IPv6 only if available."""
        try:
            sockets = [socket.create_server(("127.0.0.1", self._port))]
        except OSError:
            return []
        self._port = sockets[0].getsockname()[1]
        with suppress(OSError):
            sockets.append(socket.create_server(("::1", self._port), family=socket.AF_INET6))
        return sockets

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._closed:  # accepted while the listener was closing
            writer.transport.abort()
            return
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        self._idle[writer] = None
        if len(self._idle) > MOST_IDLE:  # a browser sends its request at once
            next(iter(self._idle)).transport.abort()
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                self._idle.pop(writer, None)
                writer.write(self._answer(head.decode("latin-1")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not HTTP, or closed
        finally:
            self._idle.pop(writer, None)
            self._handlers.discard(handler)
            writer.close()

    def _answer(self, head: str) -> bytes:
        request_line, _, headers = head.partition("\r\n")
        method, _, rest = request_line.partition(" ")
        path, _, parameters = rest.partition(" ")[0].partition("?")
        query = dict(parse_qsl(parameters))
        if not _is_for_loopback(headers):
            return _page(421, "Another host", "This address is for this machine only.")
        if path != self._path:
            return _page(404, "Not here", "There is nothing at this address.")
        if method != "GET":
            return _page(405, "Not like this", "This address is for browsers only.")
        if self._state is not None and not _equal(query.get("state", ""), self._state):
            return _page(400, "Another login", "This answer belongs to another or older login.")
        return self._finish_login(query)

    def _finish_login(self, query: Mapping[str, str]) -> bytes:
        """Read the code or the refusal of an answer to this login. Returns a page for the user."""
        if mismatch := self._issuer.problem(query.get("iss", "")):
            self._decide(LoginFailed(mismatch, hint=_MIX_UP))
            return _page(400, "Not logged in", mismatch)
        if "error" in query:
            reason = query.get("error_description", query["error"])
            self._decide(LoginFailed(f"The login was refused: {reason}"))
            return _page(200, "Not logged in", f"The login was refused: {reason}")
        if not query.get("code"):
            return _page(400, "No code", "The answer holds no code.")
        self._decide(query["code"])
        return _page(200, "Almost there", "Close this page and go back to pi.")

    def _decide(self, outcome: str | LoginFailed) -> None:
        if self._code.done():
            return  # a page that was loaded twice
        if isinstance(outcome, str):
            self._code.set_result(outcome)
        else:
            self._code.set_exception(outcome)


def _is_for_loopback(headers: str) -> bool:
    """Whether the request names this machine, and nothing else, as its host.

    Another host name is DNS rebinding: its record was pointed to this machine. Every browser sends
    exactly one Host field, so a request with none or with several comes from another program.
    """
    fields = (line.partition(":") for line in headers.split("\r\n"))
    hosts = [value.strip().lower() for name, _, value in fields if name.strip().lower() == "host"]
    if len(hosts) != 1:
        return False
    return hosts[0] in _HOSTS or hosts[0].rpartition(":")[0] in _HOSTS


def _equal(received: str, expected: str) -> bool:
    return compare_digest(received.encode(), expected.encode())


def _page(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=escape(title), text=escape(text)).encode()
    head = "\r\n".join(
        (
            f"HTTP/1.1 {status} {title}",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Connection: close",
            "\r\n",
        )
    )
    return head.encode() + body


# Proof Key for Code Exchange (RFC 7636) -----------------------------------------------------------


class Pkce(Record):
    """The secrets of one authorization.

    The state is visible in the browser's address bar, so it must not be the verifier; the original
    pi uses one value for both with Anthropic, whose server accepts any.
    """

    verifier: str
    state: str

    @property
    def challenge(self) -> str:
        """The hash of the verifier (S256), sent first; the verifier proves it at the token
        endpoint."""
        return _base64url(hashlib.sha256(self.verifier.encode()).digest())


def new_pkce(random_bytes: RandomBytes = os.urandom) -> Pkce:
    """Return new secrets."""
    return Pkce(verifier=_base64url(random_bytes(32)), state=_base64url(random_bytes(24)))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


LOGIN_SECONDS = 15 * 60.0
"""Timeout of a login in the browser."""

_IN_BROWSER = "Log in in your browser. If it runs on another machine, paste the address it ends at."
_PASTE = "Log in in your browser, then paste the address that it ends at."


async def browser_login(
    ui: LoginUI,
    http: HttpClient,
    clock: Clock,
    settings: LoginSettings,
    *,
    register: Callable[[str], Awaitable[LoginSettings]] | None = None,
) -> Tokens:
    """Send the user to the vendor's page and exchange the code for tokens.

    ``register`` gets the redirect URI and returns the settings to use, for servers that register
    clients.
    """
    pkce = new_pkce()
    issuer = ExpectedIssuer(name=settings.issuer, is_required=settings.issuer_required)
    async with CallbackListener(
        path=settings.redirect_path, state=pkce.state, port=settings.redirect_port, issuer=issuer
    ) as listener:
        if register is not None:
            settings = await register(listener.redirect_uri)
        parameters = {
            **settings.authorize_params,
            "client_id": settings.client_id,
            "response_type": "code",
            "redirect_uri": listener.redirect_uri,
            "scope": settings.scope,
            "code_challenge": pkce.challenge,
            "code_challenge_method": "S256",
            "state": pkce.state,
        }
        url = page_url(settings.authorize_url, parameters)
        code = await browser_code(ui, listener, url, clock=clock, state=pkce.state, issuer=issuer)
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": listener.redirect_uri,
        "code_verifier": pkce.verifier,
    }
    if settings.token_state:
        fields["state"] = pkce.state
    ui.notify(LoginProgress(message="Asking for the tokens…"))
    return await request_tokens(http, clock, settings, fields)


def page_url(page: str, parameters: Mapping[str, str]) -> str:
    """Return the URL of a vendor's page; empty parameters are left out."""
    query = {name: value for name, value in parameters.items() if value}
    return f"{page}{'&' if '?' in page else '?'}{urlencode(query)}"


async def browser_code(
    ui: LoginUI,
    listener: CallbackListener,
    url: str,
    *,
    clock: Clock,
    state: str | None,
    issuer: ExpectedIssuer | None = None,
) -> str:
    """Return the code, from the browser or pasted by the user, whichever is first."""
    if not listener.listening:
        ui.notify(
            LoginInfo(message=f"{listener.redirect_uri} cannot be used: another program has it.")
        )
    ui.notify(AuthUrl(url=url, instructions=_IN_BROWSER if listener.listening else _PASTE))
    returned = asyncio.create_task(listener.code(), name="browser")
    pasted = asyncio.create_task(_pasted(ui, state, issuer), name="paste")
    timeout = asyncio.create_task(clock.sleep(LOGIN_SECONDS), name="patience")
    tasks = (returned, pasted, timeout)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for source in (returned, pasted):
            if source.done():
                return source.result()
        raise LoginFailed("Login timed out.", hint="Start the login again.")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pasted(ui: LoginUI, state: str | None, issuer: ExpectedIssuer | None) -> str:
    while True:
        text = await ui.ask(LoginPrompt(kind="manual_code", message="Address or code:"))
        code, reason = read_pasted(text, state, issuer)
        if code:
            return code
        ui.notify(LoginInfo(message=reason))


def read_pasted(
    text: str, state: str | None, issuer: ExpectedIssuer | None = None
) -> tuple[str, str]:
    """Return the code in pasted text, or else the reason why there is none.

    Accepts the whole address, its query, ``code#state`` as some pages show it, and the bare code. A
    state in it has to match. If the issuer is required, only an address or its query has it.
    """
    text, query = text.strip(), {}
    if "code=" in text or "error=" in text:
        query = dict(parse_qsl((text.partition("?")[2] or text).partition("#")[0]))
        code, received_state = query.get("code", ""), query.get("state", "")
        if "error" in query:
            return "", f"The login was refused: {query.get('error_description', query['error'])}"
    else:
        code, _, received_state = text.partition("#")
    if state is not None and received_state and received_state != state:
        return "", "This belongs to another or older login. Paste the address of this one."
    if code and issuer is not None and (mismatch := issuer.problem(query.get("iss", ""))):
        return "", f"{mismatch} Paste the whole address of this login."
    if not code or "://" in code or any(map(str.isspace, code)):
        return "", "There is no code in it. Paste the whole address, or the code that was shown."
    return code, ""
