"""A guest: shows the session of a host in this process. ``pi.shared`` keeps it across sessions."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pi.batteries.collab.connection import RelayClient, RoomEnded
from pi.batteries.collab.guest_room import (
    CannotWrite,
    FrameReceived,
    GuestRoom,
    SnapshotReceived,
    Update,
)
from pi.batteries.collab.links import Link
from pi.batteries.collab.wire import clean_name
from pi.extension import (
    ExtensionAPI,
    Image,
    Json,
    Option,
    PiError,
    Replica,
    Scope,
    SessionControl,
    one_line,
)

JOIN_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 60.0
TICK_SECONDS: Final = 0.5
WRITES: Final = frozenset({"prompt", "abort"})
GOODBYES: Final = {
    "session": "The host has opened another session, which is not shared.",
    "overload": "The host's connection is too slow to share the session.",
}


class Pending:
    """A request that the host has not confirmed."""

    def __init__(self, frame: Json) -> None:
        self.frame = frame
        self.answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()


class HostRemote:
    """Sends prompts and aborts of the replica to the host."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    @property
    def capabilities(self) -> Collection[str]:
        """The actions that the link allows."""
        return WRITES if self._guest.link.keys.can_write else ()

    async def prompt(
        self,
        text: str,
        images: Sequence[Image],
        *,
        streaming: Literal["steer", "followUp"] | None,
    ) -> None:
        """Send a prompt to the host."""
        frame: Json = {"t": "prompt", "text": text}
        if images:
            frame["images"] = msgspec.to_builtins(list(images))
        if streaming is not None:
            frame["streaming"] = streaming
        await self._guest.request(frame)

    async def abort(self) -> None:
        """Abort the run of the host."""
        await self._guest.request({"t": "abort"})


class HostAgents:
    """The service ``shared_agents``: the sub-agents of the host."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.rows: list[Json] = []

    @property
    def can_write(self) -> bool:
        """Whether the link allows messages, stops and transcripts."""
        return self._guest.link.keys.can_write

    def agents(self) -> list[Json]:
        """One row for each agent, parents before children."""
        return self.rows

    def receive(self, rows: object) -> None:
        """Replace the rows by those of the host."""
        self.rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def command(self, id: str, action: str, text: str) -> None:
        """Send a message (``chat``, ``revive``) or stop (``kill``). Raises ``PiError``."""
        request = {"t": "agent-cmd", "agent": id, "action": action, "text": text}
        await self._guest.request(request)

    async def transcript(self, id: str, offset: int) -> tuple[str, int | None]:
        """A part of the transcript, and the offset of the next one; ``None`` at the end."""
        request = {"t": "fetch-transcript", "agent": id, "offset": offset}
        answer = await self._guest.request(request)
        following = answer.get("next")
        has_more = type(following) is int and following > offset
        return str(answer.get("text", "")), following if has_more else None


class Guest:
    """Connects to a room, and shows the session of its host."""

    def __init__(self, scope: Scope, link: Link, name: str) -> None:
        self.link = link
        self.ended = ""
        """Why the guest has ended; empty while it is active."""
        self.previous: str | None = None
        """The session file before joining."""
        self.opening = False
        """Whether the next session to start is a replica of the host's session."""
        self.on_ended: Callable[[str], None] = lambda reason: None
        self.participants: list[Json] = []
        self.agents = HostAgents(self)
        clock = scope.clock
        self.room = GuestRoom(link.keys, name=clean_name(name), now=clock.monotonic)
        url = f"{link.relay}/r/{link.room}?role=guest"
        self.client = RelayClient(url, self, clock, dict)
        self._clock = clock
        self._scope = scope
        self._pi: ExtensionAPI | None = None
        self._replica: Replica | None = None
        self._folder = Path()
        self._session = ""
        self._count = 0
        self._busy = False
        self._updates: deque[Update] = deque()
        self._wake = asyncio.Event()
        self._first: asyncio.Future[SnapshotReceived] = asyncio.get_running_loop().create_future()
        self._pending: dict[str, Pending] = {}
        self._dialogs: dict[str, asyncio.Task[Any]] = {}
        self._task = scope.spawn(self._run(), name="relay")
        scope.every(TICK_SECONDS, self._tick)

    # The connection -------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await self.client.run()
        except RoomEnded as error:
            self._end(error.explain())
        except PiError as error:
            self._end(error.explain())

    def on_open(self) -> None:
        """Reset the room: connected to the relay, but the host may be away."""
        self.room.connected()
        self._show()

    def on_lost(self) -> None:
        """Mark the room as away and close dialogs; the session stays on the screen."""
        self.room.disconnected()
        self._close_dialogs()
        self._show()

    def on_text(self, text: str) -> None:
        """Handle a message of the relay."""
        self.room.relay_text(text)
        if self.room.state == "away":
            self._close_dialogs()
        self._show()

    def on_frame(self, data: bytes) -> None:
        """Queue the updates in a frame of the host; ``_follow`` applies them in order."""
        try:
            updates = self.room.receive(data)
        except PiError as error:  # another version, or a wrong key
            self._end(error.explain())
            return
        for update in updates:
            if isinstance(update, SnapshotReceived) and not self._first.done():
                self._first.set_result(update)
            self._updates.append(update)
            if isinstance(update, SnapshotReceived):
                self._send_again()
        self._wake.set()

    def next_frame(self) -> bytes | None:
        """The next frame to send; ``None`` if there is none."""
        return self.room.outgoing.popleft() if self.room.outgoing else None

    def _tick(self) -> None:
        self.room.tick()
        if self.room.outgoing:
            self.client.wake()

    def _end(self, reason: str) -> None:
        if self.ended:
            return
        self.ended = reason
        if not self._first.done():
            self._first.set_exception(PiError(reason))
            self._first.exception()  # mark it as retrieved: the caller may be gone
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(PiError(reason))
                pending.answer.exception()
        self._close_dialogs()
        self.on_ended(reason)

    async def leave(self) -> None:
        """Leave the room."""
        if not self.ended:
            self.ended = "left"
        self.room.leave()
        self.client.wake()
        await asyncio.sleep(0.05)
        self._task.cancel()
        self._close_dialogs()

    # Joining --------------------------------------------------------------------------------------

    async def first_snapshot(self) -> SnapshotReceived:
        """Wait for the session of the host; raises ``PiError`` if it does not arrive in time."""
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                return await asyncio.shield(self._first)
        except TimeoutError:
            raise PiError(
                "The host does not answer.", hint="Ask whether the session is still shared."
            ) from None

    async def open(self, control: Any, folder: Path) -> bool:
        """Replace the current session by the host's; False if an extension cancelled that."""
        update = await self.first_snapshot()
        if not await self._open_replica(control, update, folder):
            return False
        self._folder = folder
        self._scope.spawn(self._follow(), name="follow")
        return True

    async def _open_replica(self, control: Any, update: SnapshotReceived, folder: Path) -> bool:
        header = update.snapshot.metadata["header"]
        # Hashed: no part of a path comes from the host.
        number = hashlib.sha256(update.session.encode()).hexdigest()[:8]
        file = folder / f"{self.link.room}-{number}.jsonl"
        self.opening = True
        try:
            replica = await control.open_replica(header, HostRemote(self), file=file)
        except PiError:  # another guest on this machine uses the file
            file = file.with_stem(f"{file.stem}-{secrets.token_hex(4)}")
            replica = await control.open_replica(header, HostRemote(self), file=file)
        finally:
            self.opening = False
        if replica is None:
            return False
        self._replica, self._session, self._count = replica, update.session, 0
        self.room.have = None
        return True

    def attach(self, pi: ExtensionAPI) -> None:
        """Use the extension API of the session that is shown now."""
        self._pi = pi
        pi.scope.on_close(self._detach)
        pi.provide("shared_agents", self.agents)
        self._show()

    def _detach(self) -> None:
        self._pi = None

    # Following ------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Apply updates one after another, until the user opens another session."""
        while True:
            while self._updates:
                await self._apply(self._updates.popleft())
                if self._replica is not None and self._replica.closed and not self.ended:
                    await self.leave()  # the user has opened another session
                    self.on_ended("")
                    return
            self._wake.clear()
            await self._wake.wait()

    async def _apply(self, update: Update) -> None:
        if isinstance(update, FrameReceived):
            await self._apply_frame(update.frame)
            return
        if update.session != self._session:
            await self._change_session(update)
        await self._apply_snapshot(update)

    async def _change_session(self, update: SnapshotReceived) -> None:
        """Open a replica of another session that the host shares under this link."""
        if self._pi is None:
            return
        await self._settle()
        done = asyncio.get_running_loop().create_future()

        async def change(control: SessionControl) -> None:
            try:
                done.set_result(await self._open_replica(control, update, self._folder))
            except BaseException as error:
                done.set_exception(error)
                raise

        self._pi.when_idle(change)
        await done

    async def _apply_snapshot(self, update: SnapshotReceived) -> None:
        replica, metadata = self._replica, update.snapshot.metadata
        if replica is None:
            return
        entries = [msgspec.json.decode(line) for line in update.snapshot.entries]
        if self._busy:  # the end of a run may be among the missed events
            await self._settle()
        self.agents.receive(metadata.get("agents"))
        state = metadata.get("state") or {}
        session_state = state.get("state") or {}
        await replica.receive(
            {
                "kind": "snapshot",
                "data": {
                    "entries": entries,
                    "leafId": metadata.get("leafId"),
                    "state": session_state,
                    "partial": None,
                },
            }
        )
        self._count = update.left_out + len(entries)
        self._remember(entries[-1] if entries else None)
        self._set_state(state)
        if session_state.get("isStreaming") is True:
            await self._event({"type": "agent_start"})
            if partial := metadata.get("partial"):
                await self._event({"type": "message_start", "message": partial})
            for event in metadata.get("tools") or ():
                await self._event(event)

    async def _apply_frame(self, frame: Json) -> None:
        replica, kind = self._replica, frame["t"]
        if replica is None:
            return
        if kind == "event":
            await self._event(frame.get("event"))
        elif kind == "entry" and isinstance(entry := frame.get("entry"), dict):
            await replica.receive({"kind": "entry", "data": entry})
            self._count += 1
            self._remember(entry)
        elif kind == "leaf":
            await replica.receive({"kind": "leaf", "data": frame.get("leafId")})
        elif kind == "state":
            state = frame.get("state") or {}
            self._set_state(state)
            await replica.receive({"kind": "state", "data": state.get("state") or {}})
        elif kind == "bye":
            await self._settle()
            self._end(GOODBYES.get(str(frame.get("reason")), "The host has stopped sharing."))
        else:
            await self._apply_other(frame, kind)

    async def _apply_other(self, frame: Json, kind: str) -> None:
        if kind == "bus":
            event = {"type": "extension_event", "name": frame.get("name")}
            await self._event({**event, "data": frame.get("data")})
        elif kind in ("accepted", "error", "transcript"):
            self._answered(frame)
        elif kind == "ui-request":
            self._ask(frame)
        elif kind == "ui-request-end":
            self._close_dialog(str(frame.get("id")))
        elif kind == "agents" and self._pi is not None:
            self.agents.receive(frame.get("agents"))
            await self._pi.events.emit("collab.agents", frame.get("agents"))

    async def _event(self, event: Any) -> None:
        if self._replica is None or not isinstance(event, dict):
            return
        kind = event.get("type")
        if kind in ("agent_start", "agent_settled"):
            self._busy = kind == "agent_start"
        await self._replica.receive({"kind": "event", "data": event})

    async def _settle(self) -> None:
        """Emit the end of a run whose own end event was missed, or will be."""
        if self._busy:
            await self._event({"type": "agent_end", "messages": []})
            await self._event({"type": "agent_settled"})

    def _remember(self, entry: Json | None) -> None:
        if entry is not None:
            have = {"session": self._session, "count": self._count, "last": entry.get("id")}
            self.room.have = have

    def _set_state(self, state: Json) -> None:
        participants = state.get("participants")
        self.participants = [
            {**participant, "name": clean_name(participant.get("name"))}
            for participant in (participants if isinstance(participants, list) else [])
            if isinstance(participant, dict)
        ]
        self._show()

    def _show(self) -> None:
        if self._pi is None:
            return
        if self.room.state == "live":
            right = "" if self.link.keys.can_write else ", view only"
            text = f"guest, {max(1, len(self.participants))} here{right}"
        else:
            text = "guest (the host is away)" if self.client.is_open else "guest (reconnecting)"
        self._pi.context.ui.set_status("collab", None if self.ended else text)

    # Requests -------------------------------------------------------------------------------------

    async def request(self, frame: Json) -> Json:
        """Send a request and wait for the answer of the host; raises ``PiError``."""
        if self.ended:
            raise CannotWrite("You are not in a shared session any more.", hint="Use /leave.")
        id = secrets.token_hex(8)
        pending = Pending({**frame, "id": id})
        if self.room.state == "live":
            self.room.write(pending.frame)
            self.client.wake()
        elif not self.link.keys.can_write:
            raise CannotWrite("This link is read-only.", hint="Ask the host for a full link.")
        self._pending[id] = pending
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await pending.answer
        except TimeoutError:
            raise PiError(
                "The host did not confirm the request.", hint="Try again when it is back."
            ) from None
        finally:
            self._pending.pop(id, None)

    def _send_again(self) -> None:
        """Repeat pending requests after a reconnection; the host recognises prompts by their id."""
        for pending in self._pending.values():
            if not pending.answer.done():
                self.room.write(pending.frame)
        self.client.wake()

    def _answered(self, frame: Json) -> None:
        pending = self._pending.get(str(frame.get("re")))
        if pending is None or pending.answer.done():
            return
        if frame["t"] != "error":
            pending.answer.set_result(frame)
        else:
            pending.answer.set_exception(PiError(one_line(str(frame.get("message"))[:500])))

    # Dialogs --------------------------------------------------------------------------------------

    def _ask(self, frame: Json) -> None:
        id = str(frame.get("id"))
        if self._pi is None or id in self._dialogs or not self._pi.context.has_ui:
            return
        self._dialogs[id] = self._pi.scope.spawn(self._dialog(self._pi, id, frame), name="dialog")

    async def _dialog(self, pi: ExtensionAPI, id: str, frame: Json) -> None:
        ui, title = pi.context.ui, one_line(f"The host is asked: {frame.get('title', '')}")
        value: Any = None
        kind = frame.get("kind")
        try:
            if kind == "select":
                options = [
                    Option(label=str(o.get("label")), description=str(o.get("description", "")))
                    for o in frame.get("options") or ()
                ]
                if frame.get("multi"):
                    value = await ui.select(title, options, multi=True)
                else:
                    value = await ui.select(title, options)
            elif kind == "confirm":
                value = await ui.confirm(title, str(frame.get("message", "")))
            elif kind == "input":
                value = await ui.input(title, str(frame.get("placeholder", "")))
            elif kind == "editor":
                value = await ui.editor(title, str(frame.get("prefill", "")))
            if value is None:
                return  # closed by this user: the host and other guests may still answer
            await self.request_as(id, {"t": "ui-response", "value": value})
        except PiError as error:
            ui.notify(error.explain(), "warning")
        finally:
            self._dialogs.pop(id, None)

    async def request_as(self, id: str, frame: Json) -> None:
        """Send a request with an id that the host assigned; a missing answer is ignored."""
        pending = Pending({**frame, "id": id})
        self.room.write(pending.frame)
        self.client.wake()
        self._pending[id] = pending
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await pending.answer
        except TimeoutError:
            pass
        finally:
            self._pending.pop(id, None)

    def _close_dialog(self, id: str) -> None:
        task = self._dialogs.pop(id, None)
        if task is not None:
            task.cancel()

    def _close_dialogs(self) -> None:
        for id in list(self._dialogs):
            self._close_dialog(id)
