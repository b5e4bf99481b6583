"""``ReplicaFollower``: applies the feed of a remote session."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from pi.agent.events import AgentEnd, MessageEnd, MessageStart
from pi.ai.messages import AssistantMessage, Json
from pi.base.json_lines import encode_line
from pi.coding.extension_host.events.session import ExtensionEvent, SessionTreeEvent
from pi.coding.port.remote import FeedItem
from pi.coding.port.results import SessionState
from pi.coding.runtime.live import LiveSession, RemoteSession
from pi.coding.runtime.session.public_events import AgentSessionEvent
from pi.coding.session.entries import SessionMessage

_BUSY: Final = {"agent_start": True, "agent_settled": False}


class ReplicaFollower:
    """Implements ``Replica``: appends received lines to the log, and emits received events."""

    def __init__(self, core: LiveSession, remote: RemoteSession) -> None:
        self._core = core
        self._remote = remote
        self._log = core.log

    @property
    def closed(self) -> bool:
        """Whether another session was opened instead."""
        return self._remote.closed

    async def receive(self, item: FeedItem | Json) -> None:
        """Apply one item; items of unknown kinds are ignored."""
        if self.closed:
            return
        kind, data = (item.kind, item.data) if isinstance(item, FeedItem) else _fields(item)
        match kind:
            case "snapshot":
                await self._begin(data)
            case "entry":
                self._adopt(data)
            case "leaf":
                await self._move_to(data)
            case "state":
                self._take(data)
            case "event":
                await self._emit(data)

    async def _begin(self, data: Json) -> None:
        """Apply a snapshot."""
        for entry in data["entries"]:
            if entry["id"] not in self._log.tree:
                self._adopt(entry)
        state = data.get("state") or {}
        self._take(state)
        self._remote.busy = state.get("isStreaming") is True
        await self._move_to(data["leafId"])
        if partial := data.get("partial"):
            await self._core.agent.emit(MessageStart(message=_message(partial)))

    async def _move_to(self, id: str | None) -> None:
        """Move the leaf like the remote side, and emit the move."""
        before = self._log.leaf_id
        self._log.move_to(id)
        await self._core.bus.emit(SessionTreeEvent(new_leaf_id=id, old_leaf_id=before))

    def _adopt(self, entry: Json | bytes | str) -> None:
        if isinstance(entry, dict):
            line = encode_line(entry)
        else:
            line = entry.encode() if isinstance(entry, str) else entry
        self._log.adopt(line)

    def _take(self, data: Json) -> None:
        """Take over model and thinking level of the remote side."""
        if not data:
            return
        state = msgspec.convert(data, SessionState)
        agent = self._core.agent
        if isinstance(state.model, msgspec.UnsetType):
            self._core.has_model = False
        else:
            agent.model, self._core.has_model = state.model, True
        agent.thinking_level = state.thinking_level

    async def _emit(self, data: Json) -> None:
        event = _event(data)
        self._remote.busy = _BUSY.get(str(data.get("type")), self._remote.busy)
        if event is not None:
            await self._core.agent.emit(event)


def _fields(item: Json) -> tuple[Any, Any]:
    return item.get("kind"), item.get("data")


@cache
def _events() -> Any:
    """Return the decoder of all events. Lazy: most sessions have no replica."""
    return AgentSessionEvent | ExtensionEvent


def _event(data: Json) -> Any:
    """Decode an event; ``None`` if this version does not know it."""
    try:
        event = msgspec.convert(data, _events())
    except msgspec.ValidationError:
        return None
    match event:
        case MessageStart(message=dict() as message) | MessageEnd(message=dict() as message):
            return type(event)(message=_message(message))
        case AgentEnd(messages=messages, will_retry=will_retry):
            return AgentEnd(messages=tuple(map(_message, messages)), will_retry=will_retry)
        case _:
            return event


def _message(data: Json) -> SessionMessage | AssistantMessage:
    message: SessionMessage = msgspec.convert(data, SessionMessage)
    return message
