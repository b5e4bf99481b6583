"""The owner of a listening socket of this machine, from ``/proc``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from pi.base.records import Record
from pi.base.terminal_text import one_line

PROC = Path("/proc")

LISTENING = "0A"
"""The state of a listening socket in ``/proc/net/tcp``."""


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
