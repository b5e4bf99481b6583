"""What a run works with, gathered in one place so that the loop itself knows nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pi.agent.answering import Ask
from pi.agent.conversation import AgentMessage, Conversation, Finish
from pi.agent.events import Emit, EntryAppended
from pi.agent.inbox import Inbox
from pi.agent.open_answer import OpenAnswer
from pi.agent.policy import Draft, Policy, Request
from pi.agent.tool import AgentTool
from pi.agent.waiting import Abort
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record


class World(Record):
    """The agent as its runs see it."""

    conversation: Conversation
    inbox: Inbox
    model: Callable[[], Model]
    """Who is asked now."""
    ask: Ask
    request: Callable[[], Request]
    """The next request, before policies have seen it."""
    tools: Callable[[], Mapping[str, AgentTool]]
    changes: Callable[[], Sequence[AgentMessage]]
    """What is new in prompt and tools and has not been said yet; told before anything else."""
    finish: Finish
    """Asked about every message but the model's, before it is kept."""
    policies: Sequence[Policy]
    emit: Emit
    clock: Clock
    abort: Abort
    open_answer: OpenAnswer

    async def add(self, drafts: Sequence[Draft]) -> None:
        """Put drafts into the log and tell those that are public."""
        for draft in drafts:
            entry = self.conversation.add(draft)
            if entry is not None:
                await self.emit(EntryAppended(entry=entry))
