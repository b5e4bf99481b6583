"""Messages and events that extensions send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from msgspec import UNSET

from pi.agent.queues import user_message
from pi.ai.messages import Image, Json, Text
from pi.coding.bus import OrderedList, Owner
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.errors import ExtensionError, check_value
from pi.coding.extension_host.events.answers import as_custom_message
from pi.coding.extension_host.scope import SessionLink
from pi.coding.session.entries import Custom, CustomMessage, KnownEntry, Label

DeliverAs: TypeAlias = Literal["steer", "follow_up", "next_turn"]
Content: TypeAlias = str | Sequence[Text | Image]


class MessageOptions(TypedDict, total=False):
    """Options of ``send_message``."""

    trigger_turn: bool
    deliver_as: DeliverAs | None


class UserMessageOptions(TypedDict, total=False):
    """Options of ``send_user_message``."""

    deliver_as: DeliverAs | None
    expand_prompt_templates: bool
    meta: Json | None


class NextTurnMessages:
    """Messages that are sent together with the next prompt of the user."""

    def __init__(self) -> None:
        self._waiting: list[CustomMessage] = []

    def add(self, message: CustomMessage) -> None:
        """Send ``message`` after the next prompt."""
        self._waiting.append(message)

    def take(self) -> tuple[CustomMessage, ...]:
        """Return and remove all waiting messages."""
        waiting, self._waiting = tuple(self._waiting), []
        return waiting


class MessageSender:
    """Sends messages for one extension. Never waits for a run."""

    def __init__(self, link: SessionLink, next_turn: NextTurnMessages) -> None:
        self._link = link
        self._next_turn = next_turn

    async def send_message(
        self,
        message: CustomMessage | Mapping[str, Any],
        *,
        trigger_turn: bool = False,
        deliver_as: DeliverAs | None = None,
    ) -> None:
        """Send a message to the model; while idle it is only recorded unless ``trigger_turn``."""
        _check_delivery(deliver_as)
        session = self._link.session
        custom = as_custom_message(message, now_ms=self._link.scope.clock.now_ms())
        if deliver_as == "next_turn":
            self._next_turn.add(custom)
        elif not session.runs.idle:
            await session.runs.queue(custom, follow_up=deliver_as == "follow_up")
        elif trigger_turn:
            session.prompts.begin_with(custom)
        else:
            await session.entries.append_message(custom)

    async def send_user_message(
        self,
        content: Content,
        *,
        deliver_as: DeliverAs | None = None,
        expand_prompt_templates: bool = False,
        meta: Json | None = None,
    ) -> None:
        """Send a message as the user; it starts a run, or is queued in the current one."""
        _check_delivery(deliver_as)
        session = self._link.session
        text, images = _parts(content)
        if session.runs.idle:
            session.prompts.start(text, images, expand=expand_prompt_templates, meta=meta or {})
            return
        if deliver_as is None:
            raise ExtensionError(
                "The agent is already running.", hint='Pass deliver_as="steer" or "follow_up".'
            )
        now_ms = self._link.scope.clock.now_ms()
        message = user_message(text, images, now_ms=now_ms, meta=meta or UNSET)
        await session.runs.queue(message, follow_up=deliver_as != "steer")

    def append_entry(self, custom_type: str, data: Any = UNSET) -> asyncio.Task[str]:
        """Store an entry that the model does not see. Await it for its id."""
        return self._append(Custom(custom_type=custom_type, data=data))

    def set_label(self, entry_id: str, label: str | None = None) -> asyncio.Task[str]:
        """Set or remove the label of an entry."""
        if entry_id not in self._link.session.entries.log.tree:
            raise ExtensionError(f"Entry not found: {entry_id}")
        return self._append(Label(target_id=entry_id, label=label or UNSET))

    def _append(self, draft: KnownEntry) -> asyncio.Task[str]:
        # The entry is stored before this returns: a call without ``await`` is not lost.
        session = self._link.session
        id, event = session.entries.append_now(draft)

        async def emit() -> str:
            if event is not None:
                await session.emit(event)
            return id

        return self._link.scope.spawn(emit(), name="entry appended")


def _check_delivery(deliver_as: str | None) -> None:
    if deliver_as is not None:
        check_value("a value of deliver_as", deliver_as, get_args(DeliverAs))


def _parts(content: Content) -> tuple[str, tuple[Image, ...]]:
    if isinstance(content, str):
        return content, ()
    text = "".join(part.text for part in content if isinstance(part, Text))
    return text, tuple(part for part in content if isinstance(part, Image))


class ExtensionChannel:
    """Named events between extensions."""

    def __init__(self, failed: Callable[[Owner, str, BaseException], None]) -> None:
        self._rows: dict[str, OrderedList[Callable[[Any], Any]]] = {}
        self._failed = failed

    def on(self, name: str, listener: Callable[[Any], Any], owner: Owner) -> Callable[[], None]:
        """Subscribe ``listener`` to a name. Returns an unsubscribe function."""
        return self._rows.setdefault(name, OrderedList()).add(listener, owner)

    async def emit(self, name: str, data: Any = None) -> None:
        """Call all subscribers of ``name`` and wait for them."""
        for row in self._rows.get(name, ()):
            try:
                await contained(partial(row.value, data))
            except Exception as error:
                self._failed(row.owner, name, error)
