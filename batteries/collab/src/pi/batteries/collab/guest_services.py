"""Requests of guests to the shared session: prompts, answers to dialogs, sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pi.batteries.collab.host_room import HostRoom, Request
from pi.batteries.collab.wire import BadContent, text_field
from pi.extension import (
    ExtensionAPI,
    Image,
    Json,
    PiError,
    Text,
    UiPromptEndEvent,
    UiPromptStartEvent,
)

MAX_TEXT: Final = 400_000
_ANSWERABLE = frozenset({"select", "confirm", "input", "editor"})


class GuestServices:
    """Serves the guests of a room in one session; each session has its own instance."""

    def __init__(
        self,
        pi: ExtensionAPI,
        room: HostRoom,
        *,
        wake: Callable[[], None],
        agents_changed: Callable[[], None],
    ) -> None:
        self._pi = pi
        self._room = room
        self._wake = wake
        self._agents_changed = agents_changed
        self._dialogs: dict[str, Json] = {}
        """Frames of the dialogs that guests can answer now, by id."""
        self._watched: Any = None
        """The sub-agent service whose changes are sent to guests."""

    def _redacted(self, value: Any) -> Any:
        return self._pi.redact(value, "collab")

    # Requests -------------------------------------------------------------------------------------

    async def serve(self, request: Request) -> None:
        """Carry out a request of a guest, and confirm or refuse it."""
        id = str(request.frame["id"])
        try:
            await self._do(request, id)
        except BadContent as error:
            self._room.refuse(request.peer, id, "bad-frame", str(error))
        except PiError as error:
            self._room.refuse(request.peer, id, "refused", error.explain())
        self._wake()

    async def _do(self, request: Request, id: str) -> None:
        pi, frame = self._pi, request.frame
        if request.kind == "prompt":
            await self._prompt(request)
            self._room.accept(request.peer, id)
        elif request.kind == "abort":
            pi.context.abort()
            self._room.accept(request.peer, id)
        elif request.kind == "ui-response":
            if id not in self._dialogs or not pi.context.ui.answer(id, frame.get("value")):
                self._room.refuse(
                    request.peer,
                    id,
                    "refused",
                    "The question is not open any more.",
                )
            else:
                self._room.accept(request.peer, id)
        elif (hub := self._hub()) is None:
            self._room.refuse(request.peer, id, "refused", "The host has no sub-agents.")
        elif request.kind == "agent-cmd":
            action = text_field(frame, "action", 20)
            if action not in ("chat", "kill", "revive"):
                raise BadContent("action is invalid")
            text = text_field(frame, "text", MAX_TEXT, "")
            await hub.command(text_field(frame, "agent", 200), action, text)
            self._room.accept(request.peer, id)
        else:
            agent, offset = text_field(frame, "agent", 200), frame.get("offset")
            if type(offset) is not int or offset < 0:
                raise BadContent("offset is invalid")
            text, following = await hub.transcript(agent, offset, limit=300_000)
            answer = {"t": "transcript", "re": id, "agent": agent, "offset": offset}
            self._room.send(
                request.peer, {**answer, "text": self._redacted(text), "next": following}
            )

    async def _prompt(self, request: Request) -> None:
        """Send a prompt of a guest as plain text, without commands, templates and ``!``."""
        frame = request.frame
        text = text_field(frame, "text", MAX_TEXT)
        images = frame.get("images") or []
        if not isinstance(images, list) or len(images) > 20:
            raise BadContent("images are invalid")
        content: list[Any] = [Text(text=text)] if text else []
        for image in images:
            match image:
                case {"data": str(data), "mimeType": str(mime)} if mime.startswith("image/"):
                    content.append(Image(data=data, mime_type=mime))
                case _:
                    raise BadContent("images are invalid")
        if not content:
            raise BadContent("the prompt is empty")
        follow_up = frame.get("streaming") == "followUp"
        pi = self._pi
        await pi.send_user_message(
            content,
            deliver_as=None if pi.context.is_idle() else "follow_up" if follow_up else "steer",
            meta={"author": request.name},
        )

    # Dialogs --------------------------------------------------------------------------------------

    def dialog_opened(self, event: UiPromptStartEvent) -> None:
        """Send a dialog that was opened ``with_guests`` to guests with the write right.

        Only the host answers other dialogs, such as trust, consent, logins, shares and approvals of
        tools. Extensions opt in, so that a dialog without a decision is not shown to guests.
        """
        if not event.with_guests or event.secret or event.kind not in _ANSWERABLE or not event.id:
            return
        request: Json = self._redacted(
            {
                "kind": event.kind,
                "title": event.title,
                "message": event.message,
                "options": [
                    {"label": option.label, "description": option.description}
                    for option in event.options
                ],
                "multi": event.multi,
                "initial": list(event.initial),
                "placeholder": event.placeholder,
                "prefill": event.prefill,
            }
        )
        self._dialogs[event.id] = {"t": "ui-request", "id": event.id, **request}
        self._room.send_all(self._room.writers, self._dialogs[event.id])
        self._wake()

    def dialog_closed(self, event: UiPromptEndEvent) -> None:
        """Close a dialog for the guests, too."""
        if self._dialogs.pop(event.id, None) is not None:
            self._room.send_all(self._room.writers, {"t": "ui-request-end", "id": event.id})
            self._wake()

    def show_dialogs(self, peer: int) -> None:
        """Send the open dialogs to a guest that has proved the write right."""
        for request in self._dialogs.values():
            self._room.send(peer, request)

    # Sub-agents -----------------------------------------------------------------------------------

    def _hub(self) -> Any:
        """The sub-agent service; ``None`` if no extension provides one."""
        return self._pi.service("agent_hub")

    def agents(self) -> list[Json]:
        """The sub-agents of the session, redacted for guests."""
        self.watch()
        hub = self._watched
        return [] if hub is None else list(self._redacted(list(hub.agents())))

    def watch(self) -> bool:
        """Subscribe to the sub-agent service, which may start late; returns whether it is new."""
        hub = self._hub()
        if hub is self._watched:
            return False
        self._watched = hub
        if (subscribe := getattr(hub, "on_change", None)) is not None:
            self._pi.scope.on_close(subscribe(self._agents_changed))
        return True
