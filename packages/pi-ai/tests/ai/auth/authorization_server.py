"""An authorization server on the loopback: PKCE, device code, rotating tokens and errors."""

from __future__ import annotations

import asyncio
import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

Json = dict[str, Any]


class Visit(NamedTuple):
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    fields: Json
    """The fields of the query, the form or the JSON body."""


class Reply(NamedTuple):
    """A response of the server."""

    status: int
    body: Json | str = ""
    location: str = ""


Page = Callable[[Visit], "Reply | Awaitable[Reply]"]


@dataclass
class AuthorizationServer:
    """Endpoints ``/authorize``, ``/device`` and ``/token``; further ones are added to ``pages``."""

    port: int = 0
    visits: list[Visit] = field(default_factory=list)
    pages: dict[str, Page] = field(default_factory=dict)
    troubles: list[Reply] = field(default_factory=list)
    """Responses that ``/token`` returns first, in order."""
    stalled: asyncio.Event | None = None
    """``/token`` waits until the event is set."""
    lifetime: int = 3600
    access_token: Callable[[int], str] = "access-{}".format
    codes: dict[str, Json] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=lambda: {"refresh-0"})
    grants: int = 0
    visited: asyncio.Event = field(default_factory=asyncio.Event)
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.pages |= {
            "/authorize": self._authorize,
            "/device": self._device,
            "/token": self._token,
        }

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def clients(self) -> Json:
        """Login settings with the URLs of this server."""
        return {
            "clientId": "client",
            "authorizeUrl": self.url("/authorize"),
            "tokenUrl": self.url("/token"),
            "deviceUrl": self.url("/device"),
        }

    def visits_to(self, path: str) -> list[Visit]:
        return [visit for visit in self.visits if visit.path == path]

    async def reply(self, visit: Visit) -> Reply:
        self.visits.append(visit)
        self.visited.set()
        page = self.pages.get(visit.path)
        if page is None:
            return Reply(404, "no such page")
        reply = page(visit)
        return reply if isinstance(reply, Reply) else await reply

    def _authorize(self, visit: Visit) -> Reply:
        fields = visit.fields
        code = f"code-{next(self._numbers)}"
        self.codes[code] = fields
        answer = {"code": code} | ({"state": fields["state"]} if "state" in fields else {})
        target = fields.get("redirect_uri") or fields["callback_url"]
        return Reply(302, location=f"{target}?{urlencode(answer)}")

    def _device(self, visit: Visit) -> Reply:
        return Reply(
            200,
            {
                "device_code": "device-1",
                "user_code": "ABCD-1234",
                "verification_uri": "https://example.com/device",
                "expires_in": 600,
                "interval": 5,
            },
        )

    async def _token(self, visit: Visit) -> Reply:
        if self.stalled is not None:
            await self.stalled.wait()
        if self.troubles:
            return self.troubles.pop(0)
        fields = visit.fields
        match fields.get("grant_type"):
            case "authorization_code":
                known = self.codes.pop(fields["code"], None)
                if known is None or not self.proves(known, fields):
                    return Reply(400, {"error": "invalid_grant"})
            case "refresh_token":
                if fields["refresh_token"] not in self.refresh_tokens:
                    return Reply(400, {"error": "invalid_grant", "error_description": "used up"})
                self.refresh_tokens.remove(fields["refresh_token"])
        return self.grant()

    def grant(self) -> Reply:
        self.grants += 1
        self.granted.set()
        refresh = f"refresh-{self.grants}"
        self.refresh_tokens.add(refresh)
        return Reply(
            200,
            {
                "access_token": self.access_token(self.grants),
                "refresh_token": refresh,
                "expires_in": self.lifetime,
            },
        )

    @staticmethod
    def proves(known: Json, fields: Json) -> bool:
        """Return whether the verifier matches the challenge of the same authorization."""
        digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
        return (
            known["code_challenge"] == urlsafe_b64encode(digest).rstrip(b"=").decode()
            and known.get("redirect_uri") == fields.get("redirect_uri")
            and known["code_challenge_method"] == "S256"
        )


@asynccontextmanager
async def authorization_server() -> AsyncIterator[AuthorizationServer]:
    """Serve until the block is left."""
    server = AuthorizationServer()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            visit = await _read(reader)
            writer.write(_written(await server.reply(visit)))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the test has ended
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=64)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await listening.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Visit:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, target, _ = first.split(" ")
    url = urlsplit(target)
    if headers.get("content-type") == "application/json":
        fields = json.loads(body)
    else:
        fields = dict(parse_qsl(url.query or body.decode()))
    return Visit(method, url.path, headers, fields)


def _written(reply: Reply) -> bytes:
    body = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
    head = [f"HTTP/1.1 {reply.status} So", f"Content-Length: {len(body)}", "Connection: close"]
    if reply.location:
        head.append(f"Location: {reply.location}")
    return "\r\n".join((*head, "", "")).encode() + body
