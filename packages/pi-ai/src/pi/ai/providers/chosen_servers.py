"""The model servers of this machine that the user has chosen.

Any program of any user can listen on a port that pi probes, and the tool calls of a model are
executed. A discovered server is therefore only offered. Choosing it records its port and the owner
of the socket; if the owner differs later, the server is not used until it is chosen again.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from pi.ai.errors import ProviderError
from pi.ai.providers.socket_owner import PROC, Owner, ServerAddress, owner_of
from pi.base.files import FileAccessError, private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE, Record

LARGEST = 1024 * 1024

_LOOPBACK = r"localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3}"

State: TypeAlias = Literal["chosen", "new", "other owner"]


class ServerNotChosen(ProviderError):
    """A local server is not used, because it was not chosen or its owner changed."""


class ServerChoice(Record):
    """One stored choice of the user."""

    provider: str
    host: str
    port: int
    owner: Owner = Owner()
    model: str = ""
    """The model that was chosen last; empty if only the server was."""


class ServerStatus(Record):
    """Whether a discovered server may be used, and its owner."""

    provider: str
    address: ServerAddress
    owner: Owner
    chosen: ServerChoice | None = None

    @property
    def state(self) -> State:
        """``chosen`` servers may be used."""
        if self.chosen is None:
            return "new"
        return "chosen" if self.chosen.owner.is_same_as(self.owner) else "other owner"

    def explain(self) -> str:
        """Return one line: why it may not be used."""
        server = f"The server of {self.provider} on {self.address}"
        if self.chosen is None:
            return f"{server} (owner: {self.owner}) was found on this machine and never chosen."
        before = self.chosen.owner
        return f"{server} was chosen when it belonged to {before}; now it belongs to {self.owner}."

    @property
    def refusal(self) -> str:
        """The explanation as an error message, with the way to choose the server."""
        return f"{self.explain()} It is not used until you choose it: {self.how_to_choose}."

    @property
    def how_to_choose(self) -> str:
        """How to choose the server, as the end of a sentence."""
        return f"with /model, or `pi models use {self.provider}`"


class ChosenServers:
    """The choices of the user, in a file of the agent directory.

    An unreadable file counts as empty: the user is asked again.
    """

    def __init__(self, path: Path, *, proc: Path = PROC) -> None:
        self._path = path
        self._proc = proc

    async def server_status(self, provider: str, address: ServerAddress) -> ServerStatus:
        """Return the current state of the server at ``address``."""
        return await asyncio.to_thread(self._status, provider, address)

    async def choose(
        self, provider: str, address: ServerAddress, *, model: str = ""
    ) -> ServerStatus:
        """Allow the current owner of the socket from now on."""
        return await asyncio.to_thread(self._choose, provider, address, model)

    def choices(self) -> tuple[ServerChoice, ...]:
        """Return all choices."""
        try:
            content: Any = msgspec.json.decode(
                read_if_exists(self._path, max_bytes=LARGEST) or b"{}"
            )
            listed = content.get("servers") if isinstance(content, dict) else None
            return msgspec.convert(listed or (), tuple[ServerChoice, ...])
        except (FileAccessError, msgspec.ValidationError, *UNREADABLE):
            return ()

    def _status(self, provider: str, address: ServerAddress) -> ServerStatus:
        chosen = next(
            (choice for choice in self.choices() if _is_at(choice, provider, address)), None
        )
        owner = owner_of(address, proc=self._proc)
        return ServerStatus(provider=provider, address=address, owner=owner, chosen=chosen)

    def _choose(self, provider: str, address: ServerAddress, model: str) -> ServerStatus:
        owner = owner_of(address, proc=self._proc)
        choice = ServerChoice(
            provider=provider, host=address.host, port=address.port, owner=owner, model=model
        )
        private_directory(self._path.parent)
        with DirectoryLock(self._path):
            others = (other for other in self.choices() if not _is_at(other, provider, address))
            content = msgspec.json.encode({"servers": [*others, choice]})
            replace_file(self._path, msgspec.json.format(content, indent=2) + b"\n")
        return ServerStatus(provider=provider, address=address, owner=owner, chosen=choice)


def _is_at(choice: ServerChoice, provider: str, address: ServerAddress) -> bool:
    return (choice.provider, choice.host, choice.port) == (provider, address.host, address.port)


def address_here(url: str) -> ServerAddress | None:
    """Return host and port of ``url`` if it is on this machine, else ``None``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if not re.fullmatch(_LOOPBACK, host):
        return None
    return ServerAddress(host=host, port=port or (443 if parts.scheme == "https" else 80))
