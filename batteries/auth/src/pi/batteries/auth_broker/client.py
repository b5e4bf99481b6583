"""Requests to the broker, and the last snapshot on disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from pi.base.files import FileAccessError
from pi.batteries.auth_broker.configuration import BrokerConfig
from pi.batteries.auth_broker.protocol import (
    AccountUsage,
    BrokerRefused,
    BrokerSnapshot,
    BrokerUnavailable,
    Limit,
    SharedAccount,
)
from pi.coding.extension_host.api.services import ExtensionHttp
from pi.extension import HttpError, HttpResponse, Json, PiError, Timeouts, replace_file

T = TypeVar("T")
_MAGIC = b"PIAB1"
_NONCE = 12

SECONDS = 35.0
"""Time limit of an answer: a refresh waits for the authorization server."""


class BrokerClient:
    """Client of one broker.

    Requests raise ``BrokerRefused`` for 401 and 403, and ``BrokerUnavailable`` for other failures.
    """

    def __init__(self, http: ExtensionHttp, config: BrokerConfig) -> None:
        self._http = http
        self._config = config
        self.url = config.url
        """The URL of the broker."""

    async def health(self) -> Json:
        """The status and protocol version of the broker; needs no token."""
        return (await self._send("GET", "healthz")).json()  # type: ignore[no-any-return]

    async def snapshot(
        self, generation: int | None = None, *, wait: int = 0
    ) -> BrokerSnapshot | None:
        """The current snapshot; ``None`` if it is still the one of ``generation``.

        With ``wait``, the broker waits up to so many seconds for a newer generation.
        """
        headers = {} if generation is None else {"If-None-Match": f'"{generation}"'}
        path = f"snapshot?wait={wait}" if wait else "snapshot"
        response = await self._send("GET", path, headers=headers)
        return None if response.status == 304 else self._decoded(response, BrokerSnapshot)

    async def add(self, provider: str, entry: Json, label: str = "") -> SharedAccount:
        """Store a credential at the broker."""
        body = {"provider": provider, "credential": entry, "label": label}
        return self._decoded(await self._send("POST", "credential", body), SharedAccount)

    async def refresh(self, id: str, version: int | None) -> SharedAccount:
        """The account with a valid token; ``version`` is that of the refused token, if any."""
        body = {} if version is None else {"version": version}
        response = await self._send("POST", f"credential/{quote(id, '')}/refresh", body)
        return self._decoded(response, SharedAccount)

    async def disable(self, id: str, reason: str) -> SharedAccount:
        """Stop the use of an account on all machines."""
        response = await self._send(
            "POST", f"credential/{quote(id, '')}/disable", {"reason": reason}
        )
        return self._decoded(response, SharedAccount)

    async def block(self, id: str, until: int, reason: str) -> SharedAccount:
        """Stop the use of an account until a time in milliseconds since 1970."""
        body = {"until": until, "reason": reason}
        response = await self._send("POST", f"credential/{quote(id, '')}/block", body)
        return self._decoded(response, SharedAccount)

    async def unblock(self, id: str) -> SharedAccount:
        """Allow the use of an account again."""
        response = await self._send("DELETE", f"credential/{quote(id, '')}/blocks")
        return self._decoded(response, SharedAccount)

    async def usage(self) -> tuple[AccountUsage, ...]:
        """The usage of the accounts."""
        response = await self._send("GET", "usage")
        return msgspec.convert(response.json()["accounts"], tuple[AccountUsage, ...])

    async def used(self, id: str, limits: tuple[Limit, ...]) -> None:
        """Report a request, and the plan limits in its response."""
        body = {"id": id, "limits": msgspec.to_builtins(limits), "requests": 1}
        await self._send("POST", "usage", body)

    async def _send(
        self, method: str, path: str, body: Json | None = None, *, headers: Json | None = None
    ) -> HttpResponse:
        sent = {"Authorization": f"Bearer {self._config.token}", **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            response = await self._http.request(
                f"{self.url}/v1/{path}",
                method=method,
                headers=sent,
                body=b"" if body is None else msgspec.json.encode(body),
                timeouts=Timeouts(connect=5.0, first_byte=SECONDS, idle=SECONDS),
            )
        except HttpError as error:
            raise BrokerUnavailable(
                f"The auth broker {self.url} cannot be reached: {error.message}",
                hint="Check that pi auth-broker serve runs there.",
            ) from error
        if response.status in (401, 403):
            raise BrokerRefused(
                f"The auth broker {self.url} refuses this machine (status {response.status}).",
                hint="Set PI_AUTH_BROKER_TOKEN to what pi auth-broker token prints there.",
            )
        if response.status >= 400:
            raise BrokerUnavailable(f"The auth broker {self.url}: {_message(response)}")
        return response

    def _decoded(self, response: HttpResponse, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(response.body, type=kind)
        except msgspec.MsgspecError as error:
            raise BrokerUnavailable(
                f"The answer of the auth broker {self.url} cannot be read: {error}."
            ) from error


def _message(response: HttpResponse) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (PiError, KeyError, TypeError):
        return f"status {response.status}"


class SnapshotCache:
    """The last snapshot on disk, encrypted. With it, a session can start without the broker.

    AES-256-GCM under SHA-256 of the token; the URL of the broker is authenticated as well.

    A file of another broker or of an older token cannot be decrypted, and counts as missing.
    """

    def __init__(self, path: Path, *, token: str, url: str) -> None:
        self._path = path
        self._key = hashlib.sha256(token.encode()).digest()
        self._url = url.encode()

    def read(self) -> BrokerSnapshot | None:
        """Return the stored snapshot; ``None`` if it is missing or cannot be decrypted."""
        # Deferred import: OpenSSL costs some milliseconds.
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            data = self._path.read_bytes()
        except OSError:
            return None
        if not data.startswith(_MAGIC):
            return None
        nonce, sealed = data[len(_MAGIC) :][:_NONCE], data[len(_MAGIC) + _NONCE :]
        try:
            plain = AESGCM(self._key).decrypt(nonce, sealed, self._url)
            return msgspec.json.decode(plain, type=BrokerSnapshot)
        except (InvalidTag, ValueError, msgspec.MsgspecError):
            return None

    def write(self, snapshot: BrokerSnapshot) -> None:
        """Store a snapshot. Errors, such as a full or read-only disk, are ignored."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE)
        sealed = AESGCM(self._key).encrypt(nonce, msgspec.json.encode(snapshot), self._url)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, _MAGIC + nonce + sealed)
        except (OSError, FileAccessError):
            return

    def clear(self) -> None:
        """Remove the file, e.g. after the broker refused the token."""
        self._path.unlink(missing_ok=True)
