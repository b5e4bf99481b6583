"""The host: shares the session of this process. ``pi.shared`` keeps it across sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from pi.batteries.collab.connection import RelayClient, RoomEnded
from pi.batteries.collab.guest_services import GuestServices
from pi.batteries.collab.host_room import GuestPeer, HostRoom
from pi.batteries.collab.links import Link
from pi.batteries.collab.links import encode as base64url
from pi.batteries.collab.outbox import (
    ADVISORY,
    KEEP,
    MERGE_SECONDS,
    MESSAGE_UPDATE,
    TOOL_UPDATE,
    Merger,
    RunView,
)
from pi.batteries.collab.sealing import takeover_hash
from pi.batteries.collab.snapshots import snapshot_body
from pi.batteries.collab.wire import MAX_ENTRY, depth_exceeds, entry_line, json_line, omitted
from pi.coding.port.remote import FeedItem
from pi.extension import ExtensionAPI, Feed, Json, PiError, Scope

FEED_SIZE: Final = 20_000
STATE_SECONDS: Final = 0.25
AGENTS_SECONDS: Final = 0.3
SLICE: Final = 100
"""Entries of a snapshot that are encoded before other tasks run."""
GOODBYE_SECONDS: Final = 2.0
_LEVELS: Mapping[str, int] = {
    "message_update": MESSAGE_UPDATE,
    "tool_execution_update": TOOL_UPDATE,
}
_PRIVATE = frozenset({"ui_prompt_start", "ui_prompt_end"})


class Host:
    """A shared session."""

    def __init__(self, scope: Scope, link: Link, name: str, *, local: bool) -> None:
        self.link = link
        self.local = local
        """Whether the relay runs in this process, for this machine only."""
        self.ended: str = ""
        """Why sharing has ended; empty while it is active."""
        self.follow = False
        """Whether the session that replaces this one is to be shared as well."""
        self.on_ended: Callable[[str], None] = lambda reason: None
        self._scope = scope
        self._takeover = os.urandom(32)
        clock = scope.clock
        self.room = HostRoom(link.keys, name=name, now=clock.monotonic)
        self.on_text = self.room.relay_text
        """Handles a message of the relay."""
        self.room.on_hello = self._hello
        self.room.on_change = self._participant
        url = f"{link.relay}/r/{link.room}?role=host"
        self.client = RelayClient(url, self, clock, self._headers)
        self._pi: ExtensionAPI | None = None
        self._feed: Feed | None = None
        self._session = ""
        self._last_state: Json = {}
        self._merger = Merger(self._redacted)
        self._run = RunView()
        self._waiting: dict[int, GuestPeer] = {}
        self.services: GuestServices | None = None
        """Serves requests of guests to the session that is shared now."""
        self._timers: set[str] = set()
        self._closing = False
        self._open = asyncio.Event()
        self._task = scope.spawn(self._run_client(), name="relay")

    # The connection -------------------------------------------------------------------------------

    def _headers(self) -> Mapping[str, str]:
        headers = {"Pi-Takeover-Hash": base64url(takeover_hash(self._takeover))}
        if self.client.ever_open:
            headers["Pi-Takeover"] = base64url(self._takeover)
        return headers

    async def _run_client(self) -> None:
        try:
            await self.client.run()
        except RoomEnded as error:
            self._end(error.explain())

    async def connected(self) -> None:
        """Wait for the relay; raises ``PiError`` if it cannot be reached."""
        opened = asyncio.ensure_future(self._open.wait())
        try:
            await asyncio.wait({opened, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
        if self.ended:
            raise PiError(self.ended, hint="Sharing was not started.")

    def on_open(self) -> None:
        """Begin a new epoch: on a new connection, guests have to send ``hello`` again."""
        self.room.connected()
        self._waiting.clear()
        self._open.set()
        self._show()

    def on_lost(self) -> None:
        """Drop all guests; the session continues here."""
        self.room.connected()
        self._waiting.clear()
        self._show()

    def on_frame(self, data: bytes) -> None:
        """Serve a frame of a guest."""
        request = self.room.receive(data)
        if request is None:
            return
        if self._pi is None or self.services is None:
            message = "The host is changing the session."
            self.room.refuse(request.peer, str(request.frame["id"]), "busy", message)
            return
        self._pi.scope.spawn(self.services.serve(request), name=f"{request.kind} of a guest")

    def next_frame(self) -> bytes | str | None:
        """The next frame to send; after the last one, the message that closes the room."""
        frame = self.room.next_frame()
        if frame is None and self._closing:
            self._closing = False
            return '{"type":"close"}'
        return frame

    async def stop(self, reason: str = "stopped") -> None:
        """End sharing, and send ``bye`` to the guests."""
        if self.ended:
            return
        self.ended = reason
        self.room.broadcast({"t": "bye", "reason": reason})
        if self.client.is_open:
            self._closing = True
            self.client.wake()
            await asyncio.wait({self._task}, timeout=GOODBYE_SECONDS)
        self._task.cancel()

    def _end(self, reason: str) -> None:
        if not self.ended:
            self.ended = reason
            self.on_ended(reason)

    # The session ----------------------------------------------------------------------------------

    def attach(self, pi: ExtensionAPI) -> None:
        """Share the session of ``pi`` from now on."""
        session = pi.context.session_manager.get_session_id()
        self._pi, self.follow = pi, False
        self._merger, self._run = Merger(self._redacted), RunView()
        self.services = GuestServices(
            pi, self.room, wake=self.client.wake, agents_changed=self._agents_changed
        )
        self._feed = pi.feed(size=FEED_SIZE)
        if self._session and self.room.peers:
            self.room.renew("session" if session != self._session else "reload")
        self._session = session
        pi.scope.spawn(self._read(self._feed), name="feed")
        pi.scope.on_close(self._detach)
        self.client.wake()
        self._show()

    def _detach(self) -> None:
        self._pi = self._feed = self.services = None

    async def _read(self, feed: Feed) -> None:
        # The first item is a snapshot. It is not broadcast: guests get one when they join.
        first = (await anext(feed)).data
        self._last_state = first["state"]
        self._run.begin(self._redacted(first["partial"]))
        self._greet_all()
        async for item in feed:
            self._handle(item)
            if not feed.pending:
                self._greet_all()
            self.client.wake()
            if self.room.outbox.overloaded:
                await self._overload()
                return

    async def _overload(self) -> None:
        if self._pi is not None:
            self._pi.warn("Sharing has ended: the connection to the relay is too slow.")
        await self.stop("overload")
        self.on_ended("")

    def _handle(self, item: FeedItem) -> None:
        data = item.data
        if item.kind == "event":
            self._event(data)
            return
        self._send_events(self._merger.flush(all=True))
        if item.kind == "snapshot":  # the feed overflowed: guests need a new snapshot as well
            self._last_state = data["state"]
            self.room.renew("lag")
        elif item.kind == "state":
            self._last_state = data
        elif item.kind == "entry":
            self.room.broadcast({"t": "entry", "entry": self._safe(data)})
        elif item.kind == "leaf":
            self.room.broadcast({"t": "leaf", "leafId": data})
        self._soon("state", STATE_SECONDS, self._send_state)

    def _safe(self, entry: Json) -> Json:
        if depth_exceeds(entry, 100):
            return omitted(entry, "nesting")
        redacted: Json = self._redacted(entry)
        size = len(json_line(redacted))
        return omitted(entry, f"{size} bytes") if size > MAX_ENTRY else redacted

    def _event(self, event: Json) -> None:
        kind = str(event.get("type"))
        if kind in _PRIVATE:
            return
        if kind == "extension_event":
            payload = {"name": event.get("name"), "data": self._redacted(event.get("data"))}
            if not depth_exceeds(payload, 90):
                self.room.broadcast({"t": "bus", **payload}, ADVISORY)
            return
        self._send_events(self._merger.add(event))
        if self._merger.waiting and self.room.peers:
            self._soon("merge", MERGE_SECONDS, self._flush)
        if kind in ("agent_start", "agent_settled", "message_end", "compaction_end"):
            self._soon("state", STATE_SECONDS, self._send_state)

    def _send_events(self, events: list[Json]) -> None:
        for event in events:
            self._run.see(event)
            if depth_exceeds(event, 100):
                continue
            level = _LEVELS.get(str(event.get("type")), KEEP)
            self.room.broadcast({"t": "event", "event": event}, level)

    def _flush(self) -> None:
        self._send_events(self._merger.flush())
        if self._merger.waiting:
            self._soon("merge", MERGE_SECONDS, self._flush)

    def _soon(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        """Call ``act`` after some seconds; further calls until then are merged into one."""
        if name in self._timers or self._pi is None:
            return
        self._timers.add(name)

        async def later() -> None:
            try:
                await self._scope.clock.sleep(seconds)
            finally:
                self._timers.discard(name)
            if self._pi is not None:
                act()
                self.client.wake()

        self._scope.spawn(later(), name=name)

    def _redacted(self, value: Any) -> Any:
        return value if self._pi is None else self._pi.redact(value, "collab")

    # Joining --------------------------------------------------------------------------------------

    def _hello(self, peer: GuestPeer) -> None:
        self._waiting[peer.id] = peer
        if self._feed is not None and not self._feed.pending:
            self._greet_all()

    def _greet_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if self._pi is not None:
            for peer in waiting.values():
                self._pi.scope.spawn(self._greet(self._pi, peer), name="snapshot")

    async def _greet(self, pi: ExtensionAPI, peer: GuestPeer) -> None:
        """Send a snapshot to a peer. All data is read in one step, in order with the feed."""
        feed = self._feed
        if feed is None or feed.pending:
            self._waiting[peer.id] = peer
            return
        nonce, epoch = peer.nonce, self.room.epoch
        snapshot_feed = pi.feed(size=1)
        snapshot = (await anext(snapshot_feed)).data  # available at once
        snapshot_feed.close()
        self._send_events(self._merger.flush())
        mark = self.room.mark()
        entries, left_out = snapshot["entries"], 0
        have, session = peer.have, str(snapshot["header"].get("id"))
        if have is not None and have.session == session and have.count <= len(entries):
            left_out = have.count if entries[have.count - 1].get("id") == have.last else 0
        metadata = {
            "header": snapshot["header"],
            "leafId": snapshot["leafId"],
            "partial": self._run.partial,
            "tools": self._run.tools(),
            "state": self._state(snapshot["state"]),
            "agents": self.services.agents() if self.services is not None else [],
        }
        lines: list[bytes] = []
        for start in range(left_out, len(entries), SLICE):
            # Redacted in batches: each call looks up the known secrets, half of the time.
            redacted = self._redacted(list(entries[start : start + SLICE]))
            lines += map(entry_line, redacted)
            await asyncio.sleep(0)
            if peer.nonce != nonce or self.room.epoch != epoch or self._pi is not pi:
                return  # the peer has sent another hello, or there is a new epoch or session
        body = snapshot_body(metadata, lines)
        self.room.welcome(peer, body, mark, nonce=nonce, session=session, left_out=left_out)
        self.client.wake()

    def _participant(self, peer: GuestPeer, change: str) -> None:
        if self._pi is not None and change in ("joined", "left"):
            right = "" if change == "left" else " (can write)" if peer.can_write else " (view only)"
            self._pi.context.ui.notify(f"{peer.name} has {change}{right}", "info")
        if change != "left" and peer.can_write and self.services is not None:
            self.services.show_dialogs(peer.id)
        self._soon("state", STATE_SECONDS, self._send_state)
        self._show()

    # State ----------------------------------------------------------------------------------------

    def _state(self, state: Json) -> Json:
        assert self._pi is not None
        context = self._pi.context
        usage = context.get_context_usage()
        stats = context.get_session_stats()
        return {
            "state": {name: value for name, value in state.items() if name != "sessionFile"},
            "cwd": str(context.cwd),
            "usage": None
            if usage is None
            else {
                "tokens": usage.tokens,
                "contextWindow": usage.context_window,
                "percent": usage.percent,
            },
            "cost": stats.cost,
            "participants": [
                {"peer": participant.peer, "name": participant.name, "role": participant.role}
                for participant in self.room.participants
            ],
        }

    def _send_state(self) -> None:
        if self.services is not None and self.services.watch():
            self._agents_changed()
        if self._pi is not None and self.room.peers:
            state = {**self._last_state, "isStreaming": not self._pi.context.is_idle()}
            self.room.broadcast({"t": "state", "state": self._state(state)})

    def _agents_changed(self) -> None:
        if self.room.peers:
            self._soon("agents", AGENTS_SECONDS, self._send_agents)

    def _send_agents(self) -> None:
        if self.services is not None:
            self.room.broadcast({"t": "agents", "agents": self.services.agents()}, ADVISORY)

    def _show(self) -> None:
        """Show in the status line that this session is shared, and with how many guests."""
        if self._pi is None:
            return
        guests = len(self.room.participants) - 1
        text = f"shared with {guests}" if guests else "shared"
        if not self.client.is_open:
            text = "shared (reconnecting)"
        self._pi.context.ui.set_status("collab", None if self.ended else text)
