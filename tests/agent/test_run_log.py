from __future__ import annotations

from typing import Any

from pi.agent.conversation import MemoryConversation, unchanged
from pi.agent.events import AgentEvent, EntryAppended, EventDispatcher
from pi.agent.policy import Abort, Draft, Request
from pi.agent.queues import AgentRunContext, MessageQueues
from pi.agent.response import StreamingResponse
from pi.ai.messages import Json
from pi.ai.providers.faux import FAUX_MODEL
from pi.testing import FakeClock
from pi.testing.fakes import ScriptedStream


class Publishing(MemoryConversation):
    """Shows what it is given, but not what is secret."""

    def add(self, draft: Draft) -> Json | None:
        super().add(draft)
        return None if draft["type"] == "secret" else draft


async def test_drafts_go_into_the_log_and_public_ones_are_emitted() -> None:
    emitted: list[AgentEvent] = []
    clock, log, events = FakeClock(), Publishing(), EventDispatcher()
    events.add(emitted.append)
    context = AgentRunContext(
        conversation=log,
        inbox=MessageQueues(),
        model=lambda: FAUX_MODEL,
        ask=lambda request: ScriptedStream()(request.model, None),  # type: ignore[arg-type]
        request=lambda: Request(model=FAUX_MODEL, thinking="off", messages=(), tools=()),
        tools=dict,
        changes=tuple,
        finish=unchanged,
        policies=(),
        events=events,
        clock=clock,
        abort=Abort(clock),
        open_answer=StreamingResponse(),
    )
    drafts: list[dict[str, Any]] = [{"type": "note"}, {"type": "secret"}]

    await context.add(drafts)

    assert list(log.messages()) == drafts
    assert emitted == [EntryAppended(entry={"type": "note"})]
