from __future__ import annotations

from typing import Any

from pi.agent.conversation import MemoryConversation, store_drafts
from pi.agent.events import AgentEvent, EntryAppended, EventDispatcher
from pi.agent.policy import Draft
from pi.ai.messages import Json


class Publishing(MemoryConversation):
    """Publishes its entries except secret ones."""

    def add(self, draft: Draft) -> Json | None:
        super().add(draft)
        return None if draft["type"] == "secret" else draft


async def test_drafts_go_into_the_log_and_public_ones_are_emitted() -> None:
    emitted: list[AgentEvent] = []
    log, events = Publishing(), EventDispatcher()
    events.add(emitted.append)
    drafts: tuple[dict[str, Any], ...] = ({"type": "note"}, {"type": "secret"})

    await store_drafts(log, drafts, events.emit)

    assert tuple(log.messages()) == drafts
    assert emitted == [EntryAppended(entry={"type": "note"})]
