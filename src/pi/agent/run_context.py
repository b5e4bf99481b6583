"""What a run works with, gathered in one place so that the loop itself knows nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from pi.agent.abort import Abort, Aborted
from pi.agent.conversation import AgentMessage, Conversation, Finish
from pi.agent.events import Emit, EntryAppended
from pi.agent.policy import Boundary, Draft, Next, Policy, Request, StopRun
from pi.agent.queues import MessageQueues
from pi.agent.response import SendRequest, StreamingResponse
from pi.agent.tools.tool import AgentTool
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record, replace

log = logging.getLogger(__name__)


class AgentRunContext(Record):
    """The agent as its runs see it."""

    conversation: Conversation
    inbox: MessageQueues
    model: Callable[[], Model]
    """Who is asked now."""
    ask: SendRequest
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
    open_answer: StreamingResponse

    async def add(self, drafts: Sequence[Draft]) -> None:
        """Put drafts into the log and tell those that are public."""
        for draft in drafts:
            entry = self.conversation.add(draft)
            if entry is not None:
                await self.emit(EntryAppended(entry=entry))


# Asking every policy what comes next, and waiting for what that needs.


DECIDING_SECONDS = 2.0
"""How long policies may take to decide after an abort."""

_STRENGTH = {"go_on": 0, "again": 1, "stop": 2}


async def decide(policies: Sequence[Policy], at: Boundary, abort: Abort) -> Next:
    """The decision of all: each sees the one so far, and a weaker one never undoes a stronger."""

    async def ask_all() -> None:
        nonlocal at
        for policy in policies:
            at = replace(at, next=_merged(at.next, await _opinion(policy, at)))

    try:
        await abort.wait(ask_all, grace=DECIDING_SECONDS)
    except Aborted:
        log.warning("deciding what comes next took too long after an abort")
    return at.next


async def prepare(wanted: Next, abort: Abort) -> Next:
    """Wait for what ``wanted`` needs first; gives what is wanted after that."""
    if wanted.prepare is not None:
        try:
            await abort.wait(wanted.prepare)
        except StopRun as stop:
            return stop.next
        except Aborted:
            pass  # whoever goes on sees the abort itself
        except Exception:
            log.exception("preparing what comes next failed")
    return wanted


async def _opinion(policy: Policy, at: Boundary) -> Next:
    try:
        return await policy.at_boundary(at)
    except StopRun as stop:
        return stop.next
    except Exception:
        log.exception("%s failed at the %s boundary", type(policy).__name__, at.kind)
        return at.next


def _merged(so_far: Next, wanted: Next) -> Next:
    """The stronger decision, with the drafts of both: none is lost because somebody else won."""
    entries, before = wanted.entries, so_far.entries
    if entries[: len(before)] != before:
        entries = before + entries
    weaker = _STRENGTH[wanted.action] < _STRENGTH[so_far.action]
    return replace(so_far if weaker else wanted, entries=entries)
