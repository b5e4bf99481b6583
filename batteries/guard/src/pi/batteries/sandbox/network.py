"""The network of sandboxed commands: none, all of it, or some hosts through a filtering proxy.

A command with ``sandbox.allowHosts`` has a network of its own without a way out. The proxy of pi is
connected with it by a Unix socket, resolves every name itself, and refuses all other hosts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from pi.extension import ExtensionAPI
from pi.extension.guards import AddressPolicy, AddressRefused, FilteringProxy, SandboxProxy

ALL_HOSTS = "*"
"""The entry of ``sandbox.allowHosts`` with which ``sandbox.network`` decides alone."""
PORT = 40128
"""The port of the proxy in the network of the sandbox, which nothing else uses."""
WEB_PORTS = (80, 443)
MAX_SOCKET = 100
"""Maximum length of the path of a Unix socket."""
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SandboxNetwork:
    """What the commands of one session can reach."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._proxy: FilteringProxy | None = None
        self._address = SandboxProxy()
        self._starting = asyncio.Lock()

    @property
    def _hosts(self) -> tuple[str, ...]:
        return tuple(self._pi.settings.get("sandbox.allowHosts"))

    @property
    def is_limited(self) -> bool:
        """Whether some hosts can be reached, and no others."""
        return bool(self._hosts) and ALL_HOSTS not in self._hosts

    @property
    def is_open(self) -> bool:
        """Whether the whole network can be used."""
        return ALL_HOSTS in self._hosts and self._pi.settings.get("sandbox.network") is True

    @property
    def is_off(self) -> bool:
        """Whether nothing can be reached."""
        return not self.is_limited and not self.is_open

    @property
    def description(self) -> str:
        """How it is shown to the user."""
        if self.is_limited:
            return f"only {', '.join(self._hosts)}"
        return "allowed" if self.is_open else "off"

    async def proxy(self) -> SandboxProxy | None:
        """Return the proxy for a command, which is started once; ``None`` if it has none."""
        if not self.is_limited:
            return None
        async with self._starting:
            if self._proxy is None:
                proxy = FilteringProxy(self._pi.scope, self._connect)
                if sys.platform == "darwin":  # there the sandbox allows single ports
                    await proxy.open()
                    self._address = SandboxProxy(port=proxy.port)
                else:
                    socket = self._socket()
                    await proxy.open(socket)
                    self._address = SandboxProxy(socket=socket, port=PORT)
                self._proxy = proxy
        return self._address

    def variables(self) -> dict[str, str]:
        """The variables by which programs find the proxy."""
        if self._proxy is None or not self.is_limited:
            return {}
        url = f"http://pi:{self._proxy.token}@127.0.0.1:{self._address.port}"
        # Servers of the command itself are in its own network.
        own = [name for name in ("localhost", "127.0.0.1", "::1") if not allows(self._hosts, name)]
        values = dict.fromkeys(_VARIABLES, url) | {"NO_PROXY": ",".join(own)}
        return values | {name.lower(): value for name, value in values.items()}

    def _socket(self) -> Path:
        folder = tempfile.mkdtemp(prefix="pi-sandbox-")  # only this user can open it
        if len(folder) > MAX_SOCKET:
            os.rmdir(folder)  # noqa: PTH106
            folder = tempfile.mkdtemp(prefix="pi-sandbox-", dir="/tmp")
        self._pi.scope.on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
        return Path(folder, "s")

    async def _connect(self, host: str, port: int) -> Streams:
        hosts = self._hosts if self.is_limited else ()
        if not allows(hosts, host, port):
            raise AddressRefused(
                f"{host}:{port} is not in sandbox.allowHosts.", origin=f"{host}:{port}"
            )
        # A host that the user names may be in a private network; one that a pattern matches not.
        exact = tuple(entry for entry in hosts if ALL_HOSTS not in entry)
        policy = AddressPolicy(allow_hosts=exact)
        return await self._pi.http.connect(host, port, allow_address=policy)


def allows(hosts: Sequence[str], host: str, port: int | None = None) -> bool:
    """Whether the entries ``host``, ``*.host`` or ``host:port`` allow a connection.

    Without a port, an entry allows those of the web.
    """
    host = host.rstrip(".").lower()
    for entry in hosts:
        name, _, number = entry.strip().lower().rpartition(":")
        if not number.isdigit() or (":" in name and not name.startswith("[")):
            name, number = entry.strip().lower(), ""
        is_port = port is None or (str(port) == number if number else port in WEB_PORTS)
        if is_port and fnmatchcase(host, name.strip("[]")):
            return True
    return False
