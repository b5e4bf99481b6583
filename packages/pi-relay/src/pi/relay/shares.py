"""Sealed shares: stored and served until they expire or are revoked. The relay has no key."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from aiohttp import web

from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import Record
from pi.relay.limits import Limits
from pi.relay.pages import HEADERS, Pages

_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")


class StoreFull(Exception):
    """There is no space for another share."""


class Stored(Record):
    """A share without its content."""

    id: str
    revoke_hash: str
    """SHA-256 of the token that removes it."""
    expires: int
    """Unix milliseconds."""
    size: int


class NewShare(Record):
    """A stored share and its revoke token, as returned to its owner."""

    id: str
    revoke: str
    expires: int


class Blobs(Protocol):
    """Storage for the bytes of shares."""

    def read(self, id: str) -> bytes | None:
        """The bytes of a share."""
        ...

    def write(self, row: Stored, data: bytes) -> None:
        """Keep a share."""
        ...

    def remove(self, id: str) -> None:
        """Remove a share."""
        ...

    def load(self) -> list[Stored]:
        """The stored shares, read at the start."""
        ...


class MemoryBlobs:
    """Shares of a relay without a folder: lost when it ends."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def read(self, id: str) -> bytes | None:
        """The bytes of a share."""
        return self._data.get(id)

    def write(self, row: Stored, data: bytes) -> None:
        """Keep a share."""
        self._data[row.id] = data

    def remove(self, id: str) -> None:
        """Remove a share."""
        self._data.pop(id, None)

    def load(self) -> list[Stored]:
        """An empty list: memory starts empty."""
        return []


class FolderBlobs:
    """Shares in a private folder: the bytes, and a line about them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        private_directory(folder)

    def read(self, id: str) -> bytes | None:
        """The bytes of a share."""
        return read_if_exists(self._folder / f"{id}.blob")

    def write(self, row: Stored, data: bytes) -> None:
        """Keep a share; the line is written last, so that half a share is never found."""
        replace_file(self._folder / f"{row.id}.blob", data)
        about = {"revoke": row.revoke_hash, "expires": row.expires, "size": row.size}
        replace_file(self._folder / f"{row.id}.json", json.dumps(about).encode())

    def remove(self, id: str) -> None:
        """Remove a share."""
        for ending in ("json", "blob"):
            (self._folder / f"{id}.{ending}").unlink(missing_ok=True)

    def load(self) -> list[Stored]:
        """The shares of earlier runs, and of other processes that use the folder."""
        rows = []
        for path in self._folder.glob("*.json"):
            if _ID.fullmatch(path.stem) and (row := self.about(path.stem)) is not None:
                rows.append(row)
        return rows

    def about(self, id: str) -> Stored | None:
        """The line about a share."""
        line = read_if_exists(self._folder / f"{id}.json")
        try:
            about = json.loads(line or b"null")
            return Stored(
                id=id,
                revoke_hash=str(about["revoke"]),
                expires=int(about["expires"]),
                size=int(about["size"]),
            )
        except (ValueError, KeyError, TypeError):
            return None


class Shares:
    """All shares of this relay."""

    def __init__(
        self, limits: Limits, now_ms: Callable[[], int], folder: Path | None = None
    ) -> None:
        self._limits = limits
        self._now_ms = now_ms
        self._blobs: Blobs = MemoryBlobs() if folder is None else FolderBlobs(folder)
        self._rows = {row.id: row for row in self._blobs.load()}
        self._size = sum(row.size for row in self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Bytes of all shares."""
        return self._size

    async def add(self, data: bytes, seconds: int | None) -> NewShare:
        """Keep a share for a while; raises ``StoreFull``."""
        self.expire()
        if self._size + len(data) > self._limits.store_bytes:
            raise StoreFull
        limits = self._limits
        seconds = min(max(60, seconds or limits.share_seconds), limits.max_share_seconds)
        revoke = secrets.token_urlsafe(24)
        row = Stored(
            id=secrets.token_urlsafe(16),
            revoke_hash=_hash(revoke),
            expires=self._now_ms() + seconds * 1000,
            size=len(data),
        )
        self._rows[row.id] = row
        self._size += row.size
        try:
            await asyncio.to_thread(self._blobs.write, row, data)
        except BaseException:
            self._forget(row)
            raise
        return NewShare(id=row.id, revoke=revoke, expires=row.expires)

    async def read(self, id: str) -> bytes | None:
        """The bytes of a share; ``None`` if it does not exist or has expired."""
        if self._find(id) is None:
            return None
        return await asyncio.to_thread(self._blobs.read, id)

    def exists(self, id: str) -> bool:
        """Whether a share can be read."""
        return self._find(id) is not None

    async def revoke(self, id: str, token: str) -> bool:
        """Remove a share; returns False if there is none or the token is wrong."""
        row = self._find(id)
        if row is None or not hmac.compare_digest(_hash(token), row.revoke_hash):
            return False
        self._forget(row)
        await asyncio.to_thread(self._blobs.remove, id)
        return True

    def expire(self) -> None:
        """Remove expired shares."""
        now = self._now_ms()
        for row in [row for row in self._rows.values() if row.expires <= now]:
            self._forget(row)
            self._blobs.remove(row.id)

    def _find(self, id: str) -> Stored | None:
        if not _ID.fullmatch(id):
            return None
        row = self._rows.get(id)
        if row is None and isinstance(self._blobs, FolderBlobs):
            row = self._blobs.about(id)  # another process of the relay may have stored it
            if row is not None:
                self._rows[id] = row
                self._size += row.size
        return None if row is None or row.expires <= self._now_ms() else row

    def _forget(self, row: Stored) -> None:
        if self._rows.pop(row.id, None) is not None:
            self._size -= row.size


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class ShareRoutes:
    """Accepts, serves and revokes shares over HTTP."""

    def __init__(
        self,
        shares: Shares,
        pages: Pages,
        most: int,
        admit: Callable[[web.Request], None],
    ) -> None:
        self._shares = shares
        self._pages = pages
        self._most = most
        """Bytes of a share."""
        self._admit = admit
        """Raises an HTTP error if the sender may not store another share."""

    def table(self) -> list[web.RouteDef]:
        """The routes."""
        return [
            web.post("/s", self._add),
            web.get("/s/{id}", self._page),
            web.get("/s/{id}/raw", self._raw),
            web.delete("/s/{id}", self._revoke),
        ]

    async def _add(self, request: web.Request) -> web.Response:
        self._admit(request)
        sent = request.headers.get("Pi-Expires", "")
        if sent and not sent.isdecimal():
            raise web.HTTPBadRequest(text="Pi-Expires is a number of seconds.\n")
        data = await request.read()  # aiohttp answers 413 above ``client_max_size``
        if len(data) > self._most:
            raise web.HTTPRequestEntityTooLarge(self._most, len(data))
        if len(data) < 30 or data[0] != 1:
            raise web.HTTPBadRequest(text="This is not a sealed share of version 1.\n")
        try:
            new = await self._shares.add(data, int(sent[:9]) if sent else None)
        except StoreFull:
            raise web.HTTPInsufficientStorage(text="The relay has no space left.\n") from None
        about = {"id": new.id, "revoke": new.revoke, "expires": new.expires}
        return web.json_response(about, status=201, headers={"Cache-Control": "no-store"})

    async def _page(self, request: web.Request) -> web.Response:
        if not self._shares.exists(request.match_info["id"]):
            raise web.HTTPNotFound(text="This share does not exist, or not any more.\n")
        return self._pages.response("share.html") or web.Response(
            text="The link opens in the browser client, which this relay does not have.\n",
            headers=HEADERS,
        )

    async def _raw(self, request: web.Request) -> web.Response:
        data = await self._shares.read(request.match_info["id"])
        if data is None:
            raise web.HTTPNotFound(text="This share does not exist, or not any more.\n")
        return web.Response(body=data, content_type="application/octet-stream", headers=HEADERS)

    async def _revoke(self, request: web.Request) -> web.Response:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_revoked = scheme == "Bearer" and await self._shares.revoke(
            request.match_info["id"], token
        )
        if not is_revoked:
            raise web.HTTPNotFound(text="No such share, or the token is wrong.\n")
        return web.Response(status=204)
