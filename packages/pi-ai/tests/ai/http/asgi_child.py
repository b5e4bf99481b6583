"""A small ASGI application, and the child process that serves it with a server from the index.

Started by ``real_server`` as ``python asgi_child.py KIND FD [CERT KEY CA]``; ``FD`` is a listening
socket of the parent, so that no port is guessed and no start is missed.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


def content(size: int) -> bytes:
    """Return the expected body of that size, for client and server."""
    return (b"0123456789abcdef\xff\x00" * (size // 18 + 1))[:size]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """``/length/N``, ``/chunked/N`` and ``/gzip/N`` return N bytes, ``/echo`` the request body."""
    if scope["type"] != "http":
        return
    kind, _, argument = scope["path"].strip("/").partition("/")
    status = int(argument) if kind == "status" else 200
    headers = [(b"x-twice", b"1"), (b"x-twice", b"2")]
    body = content(int(argument or 0)) if status not in (204, 304) else b""
    if kind == "echo":
        body = await received(receive)
    if kind == "gzip":
        body = gzip.compress(body)
        headers.append((b"content-encoding", b"gzip"))
    if kind != "chunked" and status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if scope["method"] == "HEAD":
        body = b""
    for start in range(0, len(body), 50_000):
        piece = body[start : start + 50_000]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def received(receive: Receive) -> bytes:
    """The whole body of the request."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def serve_with_uvicorn(listening: socket.socket, parser: str, tls: list[str]) -> None:
    """Serve until killed."""
    import uvicorn

    options: dict[str, Any] = {}
    if tls:
        certificate, key, authority = tls
        options = {"ssl_certfile": certificate, "ssl_keyfile": key}
        if authority:
            options |= {"ssl_ca_certs": authority, "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(app, http=parser, lifespan="off", log_level="warning", **options)
    uvicorn.Server(config).run(sockets=[listening])


def serve_with_hypercorn(listening: socket.socket, tls: list[str]) -> None:
    """Serve until killed."""
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    if tls:
        config.certfile, config.keyfile, authority = tls
        config.alpn_protocols = ["http/1.1"]
        if authority:
            config.ca_certs, config.verify_mode = authority, ssl.CERT_REQUIRED
    asyncio.run(serve(app, config, mode="asgi"))  # type: ignore[arg-type]


def main(kind: str, descriptor: str, *tls: str) -> None:
    """Serve on the inherited socket."""
    listening = socket.socket(fileno=int(descriptor))
    if kind == "hypercorn":
        serve_with_hypercorn(listening, list(tls))
    else:
        serve_with_uvicorn(listening, kind.removeprefix("uvicorn-"), list(tls))


if __name__ == "__main__":
    main(*sys.argv[1:])
