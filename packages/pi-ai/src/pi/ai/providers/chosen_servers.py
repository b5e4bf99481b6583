"""The model servers of this machine that the user has chosen.

Any program of any user can listen on a port that pi probes, and the tool calls of a model are
executed. A discovered server is therefore only offered. Choosing it records its port and the owner
of the socket; if the owner differs later, the server is not used until it is chosen again.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from pi.ai.errors import ProviderError
from pi.base.files import FileAccessError, private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE, Record
from pi.base.terminal_text import one_line

PROC = Path("/proc")
LISTENING = "0A"
"""The state of a listening socket in ``/proc/net/tcp``."""
LARGEST = 1024 * 1024

_LOOPBACK = r"localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3}"

State: TypeAlias = Literal["chosen", "new", "other owner"]


class ServerNotChosen(ProviderError):
    """A local server is not used, because it was not chosen or its owner changed."""


class Owner(Record):
    """The owner of a listening socket, as far as the system reports it."""

    uid: int | None = None
    user: str = ""
    process: str = ""
    """Name of the process; empty if it cannot be read, as with processes of other users."""

    def __str__(self) -> str:
        """Text for the user: ``alice (uid 1001), ollama``."""
        if self.uid is None:
            return "unknown owner"
        user = f"{one_line(self.user)} (uid {self.uid})" if self.user else f"uid {self.uid}"
        return f"{user}, {one_line(self.process)}" if self.process else user

    def is_same_as(self, other: Owner) -> bool:
        """Whether both are the same user and, if both are known, the same program."""
        if self.uid != other.uid:
            return False
        return not self.process or not other.process or self.process == other.process


class ServerAddress(Record):
    """Host and port of a server on this machine."""

    host: str
    port: int

    def __str__(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


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


# The owner of a socket ----------------------------------------------------------------------------


def owner_of(address: ServerAddress, *, proc: Path = PROC) -> Owner:
    """Return the owner of the socket at ``address``; without uid if the system does not
    report it."""
    sockets = {**_listening(proc / "net/tcp"), **_listening(proc / "net/tcp6")}
    for local in _local_addresses(address.host):
        socket_owner = sockets.get(f"{local}:{address.port:04X}")
        if socket_owner is not None:
            uid, inode = socket_owner
            return Owner(uid=uid, user=_user_name(uid), process=_process_name(inode, proc))
    return Owner()


def _local_addresses(host: str) -> Iterator[str]:
    """Yield addresses that a connection to ``host`` can reach, in the kernel's order of
    preference."""
    for address in ("::1", "127.0.0.1") if host == "localhost" else (host,):
        if ":" in address:
            yield from map(_kernel_form, (address, "::"))
        else:  # an IPv6 socket can accept IPv4 connections too
            yield from map(_kernel_form, (address, "0.0.0.0", f"::ffff:{address}", "::"))


def _kernel_form(address: str) -> str:
    """Return an address as in ``/proc/net``: 32-bit words in the machine's byte order."""
    import socket  # lazy: needed for discovery only

    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    words = (packed[offset : offset + 4] for offset in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _listening(table: Path) -> dict[str, tuple[int, str]]:
    """Return the listening sockets of a table: local address → uid and inode."""
    try:
        lines = table.read_text().splitlines()[1:]
    except (OSError, UnicodeDecodeError):  # not Linux
        return {}
    rows = (line.split() for line in lines)
    return {row[1]: (int(row[7]), row[9]) for row in rows if len(row) > 9 and row[3] == LISTENING}


def _user_name(uid: int) -> str:
    try:
        import pwd  # lazy: not on Windows, where no socket has a uid

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return ""


def _process_name(inode: str, proc: Path) -> str:
    """Return the program that holds a socket; empty if it is not readable."""
    link = f"socket:[{inode}]"
    try:
        numbers = sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal())
    except OSError:
        return ""
    for number in numbers:
        folder = proc / str(number)
        try:
            if any(str(descriptor.readlink()) == link for descriptor in (folder / "fd").iterdir()):
                return (folder / "comm").read_text(errors="replace").strip()
        except OSError:  # of another user, or already ended
            continue
    return ""
