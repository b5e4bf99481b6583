"""What an extension says and tells, and what it is told of everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from pi.base.records import UNSET
from pi.coding.extension_host.extension_events import ExtensionEvent
from pi.coding.extension_host.feed import Feed
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.sending import MessageOptions, Sending, UserMessageOptions
from pi.coding.extension_host.session_parts import Content
from pi.coding.session.messages import CustomMessage


class SayingMembers(ApiMembers):
    """Speaks in the session, and to whoever listens to it."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._sending = Sending(instance.link, instance.shelves.next_turn)

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **how: Unpack[MessageOptions]
    ) -> None:
        """Say something to the model; at rest it is only recorded unless ``trigger_turn``.

        While it works, ``deliver_as`` says when: ``steer``, ``follow_up`` or ``next_turn``.
        """
        await self._sending.send_message(message, **how)

    async def send_user_message(self, content: Content, **how: Unpack[UserMessageOptions]) -> None:
        """Say something as if the person had said it; ``meta`` is kept, but told to no model.

        While the model works, ``deliver_as`` must say when: ``steer`` or ``follow_up``.
        """
        await self._sending.send_user_message(content, **how)

    async def append_entry(self, custom_type: str, data: Any = UNSET) -> str:
        """Keep something in the session that the model does not see; gives the entry's id."""
        return await self._sending.append_entry(custom_type, data)

    async def set_session_name(self, name: str) -> None:
        """Call the session something else."""
        await self._link.session.talk.rename(name)

    def get_session_name(self) -> str | None:
        """What the session is called."""
        return self._link.session.talk.log.name

    async def set_label(self, entry_id: str, label: str | None = None) -> None:
        """Put a label on an entry, or take it off."""
        await self._link.session.talk.label(entry_id, label)

    async def publish(self, name: str, data: Any = None) -> None:
        """Tell everybody an event of the extension's own: listeners, JSON mode and RPC."""
        await self._shelves.events.emit(name, data)
        await self._link.session.events.tell(ExtensionEvent(name=name, data=data))

    def feed(self, *, size: int = 1000) -> Feed:
        """Everything that there is and that happens from now on, as data and in order."""
        feed = Feed(self._link.session, size=size)
        self._instance.keep(feed.close)
        return feed
