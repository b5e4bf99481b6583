"""State that outlives sessions: the host, the guest, and the relay on this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pi.batteries.collab.guest import Guest
from pi.batteries.collab.host import Host
from pi.batteries.collab.links import Link, relay_address
from pi.batteries.collab.sealing import Keys
from pi.extension import PiError, Scope, install_hint

if TYPE_CHECKING:
    from pi.relay.server import Relay

LOCAL_PORTS = (7475, 0)
"""Ports of the local relay: the default one, or a free one if that is taken."""


class Sharing:
    """Hosts and joins sessions. There is one for each process; its sessions share it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.host: Host | None = None
        self.guest: Guest | None = None
        self.joining = False
        """Whether a guest has connected, but its session is not shown yet."""
        self.opening = False
        """Whether the next session to start is a replica of the host's session."""
        self.automatic = ""
        """The value of ``collab.autoStart`` that has begun it; switching that off ends it."""
        self.farewell = ""
        """Why the shared session has ended; the session of the former guest shows it."""
        self.opens_page = False
        """Whether the next session to start is to be opened in the browser."""
        self._host_scope: Scope | None = None
        self._guest_scope: Scope | None = None
        self._relay: Relay | None = None
        self._lock = asyncio.Lock()
        scope.on_close(self.close)

    @property
    def is_hosting(self) -> bool:
        """Whether a session of this process is shared."""
        return self.host is not None and not self.host.ended

    @property
    def is_guest(self) -> bool:
        """Whether this process shows a session of another user."""
        return self.guest is not None and not self.guest.ended

    async def start(self, relay: str, name: str) -> tuple[Host, bool]:
        """Share; returns the host, and whether it is new. Concurrent calls create one room."""
        async with self._lock:
            if self.host is not None and not self.host.ended:
                return self.host, False
            await self._close_host()
            address = relay_address(relay) if relay else await self._local_relay()
            link = Link(relay=address, keys=Keys.new())
            scope = self._scope.inner("host")
            host = Host(scope, link, name, local=not relay)
            try:
                await host.connected()
            except BaseException:
                await scope.close()
                raise
            self.host, self._host_scope = host, scope
            return host, True

    async def stop(self, reason: str = "stopped") -> None:
        """Stop sharing."""
        async with self._lock:
            if self.host is not None:
                await self.host.stop(reason)
            await self._close_host()

    async def join(self, link: Link, name: str) -> Guest:
        """Connect as a guest."""
        async with self._lock:
            await self._close_guest()
            scope = self._scope.inner("guest")
            self.guest, self._guest_scope = Guest(scope, link, name), scope
            return self.guest

    async def leave(self) -> None:
        """Disconnect as a guest."""
        async with self._lock:
            if self.guest is not None:
                await self.guest.leave()
            await self._close_guest()

    async def close(self) -> None:
        """Stop hosting, leave as a guest, and close the local relay."""
        await self.stop("exit")
        await self.leave()
        if self._relay is not None:
            relay, self._relay = self._relay, None
            await relay.close()

    async def _close_host(self) -> None:
        scope, self._host_scope, self.host = self._host_scope, None, None
        if scope is not None:
            await scope.close()

    async def _close_guest(self) -> None:
        scope, self._guest_scope, self.guest = self._guest_scope, None, None
        if scope is not None:
            await scope.close()

    async def _local_relay(self) -> str:
        """The address of the relay in this process, which is started if necessary."""
        if self._relay is None:
            self._relay = await _start_relay()
        return "ws" + self._relay.address.removeprefix("http")


async def _start_relay() -> Relay:
    try:
        from pi.relay.bind import Bind
        from pi.relay.server import Relay, RelayOptions
    except ModuleNotFoundError as error:
        raise PiError(
            f"No relay is configured, and a local one needs {error.name}.",
            hint=f"{install_hint('relay')} (or set collab.relayUrl)",
        ) from error
    failure: PiError | None = None
    for port in LOCAL_PORTS:
        options = RelayOptions(bind=Bind(host="127.0.0.1", port=port))
        relay = Relay(options, report=_ignore)
        try:
            await relay.start()
        except PiError as error:
            failure = error
            continue
        return relay
    assert failure is not None
    raise failure


def _ignore(*_: Any) -> None:
    """Ignore reports of the relay in this process: its clients report errors."""
