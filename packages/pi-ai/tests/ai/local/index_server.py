"""A package index with one wheel: it can stop half-way, and records its requests."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.ai.http.raw_server import Peer, raw_server

METADATA = b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"

_REQUEST = re.compile(rb"GET (\S+) HTTP")
_RANGE = re.compile(rb"\r\nRange: bytes=(\d+)-\r\n", re.IGNORECASE)


@dataclass
class Index:
    """The behaviour of the index and its received requests."""

    wheel: bytes
    url: str = ""
    sha256: str | None = ""
    """The hash it lists for the wheel: empty for the real one, ``None`` for none."""
    has_metadata: bool = True
    takes_ranges: bool = True
    only_for_pip: bool = False
    """Whether it rejects requests of clients other than pip."""
    stop_after: int | None = None
    """Bytes of a response after which it stops sending."""
    hangs_up: bool = False
    """Whether it then closes the connection."""
    range_starts: list[int] = field(default_factory=list)
    """The start of the requested range, for each request of the wheel."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables that make pip use only this index."""
        return {
            "PATH": os.environ["PATH"],
            "PIP_INDEX_URL": f"{self.url}simple",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_CACHE_DIR": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    async def serve(self, peer: Peer) -> None:
        """Answer one request."""
        try:
            request = await peer.request()
        except asyncio.IncompleteReadError:
            return
        found = _REQUEST.match(request)
        path = found[1].decode() if found else ""
        if request.startswith(b"HEAD"):
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.wheel))
        elif path.endswith(".whl"):
            await self._give_wheel(peer, request)
        elif path.endswith(".metadata"):
            await self._give(peer, "200 OK", METADATA)
        else:
            await self._give(peer, "200 OK", self._page(), "Content-Type: text/html")
        await peer.hang_up()

    async def _give_wheel(self, peer: Peer, request: bytes) -> None:
        found = _RANGE.search(request)
        start = int(found[1]) if found else 0
        self.range_starts.append(start)
        if self.only_for_pip and b"\r\nUser-Agent: pip/" not in request:
            return await self._give(peer, "401 Unauthorized", b"")
        if not start or not self.takes_ranges:
            return await self._give(peer, "200 OK", self.wheel)
        if start >= len(self.wheel):
            return await self._give(peer, "416 Range Not Satisfiable", b"")
        size = len(self.wheel)
        where = f"Content-Range: bytes {start}-{size - 1}/{size}"
        return await self._give(peer, "206 Partial Content", self.wheel[start:], where)

    async def _give(self, peer: Peer, status: str, body: bytes, *headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
        head = "\r\n".join((*lines, "Connection: close", "", "")).encode()
        if self.stop_after is None or len(body) <= self.stop_after:
            await peer.send(head + body)
            return
        await peer.send(head + body[: self.stop_after])
        self.stopped.set()
        if not self.hangs_up:
            await peer.gone()

    def _page(self) -> bytes:
        sha256 = hashlib.sha256(self.wheel).hexdigest() if self.sha256 == "" else self.sha256
        fragment = "" if sha256 is None else f"#sha256={sha256}"
        metadata = f"sha256={hashlib.sha256(METADATA).hexdigest()}" if self.has_metadata else ""
        attribute = f' data-core-metadata="{metadata}"' if metadata else ""
        name = "tiny_weights-1.0-py3-none-any.whl"
        link = f'<a href="/files/{name}{fragment}"{attribute}>{name}</a>'
        return f"<!DOCTYPE html><html><body>{link}</body></html>".encode()


@asynccontextmanager
async def index_of(folder: Path) -> AsyncIterator[Index]:
    """An index with the wheel in ``folder``."""
    (wheel,) = folder.glob("*.whl")
    index = Index(wheel.read_bytes())
    async with raw_server(index.serve) as listening:
        index.url = listening.url
        yield index
