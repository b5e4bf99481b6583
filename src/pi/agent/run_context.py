"""Dependencies of one run: conversation, queues, requests, policies, events.

``decide`` asks all policies what comes next; ``prepare`` waits for what the decision needs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from pi.agent.abort import Abort, Aborted
from pi.agent.conversation import AgentMessage, Conversation, Finish
from pi.agent.events import Emit, EntryAppended
from pi.agent.policy import Boundary, Draft, Next, Policy, Request, StopRun, overriding
from pi.agent.queues import MessageQueues
from pi.agent.response import SendRequest, StreamingResponse
from pi.agent.tools.tool import AgentTool
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record, replace

log = logging.getLogger(__name__)


class AgentRunContext(Record):
    """The parts of an agent that a run uses."""

    conversation: Conversation
    inbox: MessageQueues
    model: Callable[[], Model]
    """The current model."""
    ask: SendRequest
    request: Callable[[], Request]
    """The next request, before policies see it."""
    tools: Callable[[], Mapping[str, AgentTool]]
    changes: Callable[[], Sequence[AgentMessage]]
    """Changes of prompt and tools that are not declared yet; sent before all other messages."""
    finish: Finish
    """Called with every message except model responses before it is stored; may replace it."""
    policies: Sequence[Policy]
    emit: Emit
    clock: Clock
    abort: Abort
    open_answer: StreamingResponse

    async def add(self, drafts: Sequence[Draft]) -> None:
        """Store drafts and emit those that are public."""
        for draft in drafts:
            entry = self.conversation.add(draft)
            if entry is not None:
                await self.emit(EntryAppended(entry=entry))


DECIDING_SECONDS = 2.0
"""Time limit for policies to decide after an abort."""

_STRENGTH = {"go_on": 0, "again": 1, "stop": 2}


async def decide(policies: Sequence[Policy], at: Boundary, abort: Abort) -> Next:
    """Return the joint decision: each policy sees the one so far; a weaker one never replaces a
    stronger.
    """

    async def ask_all() -> None:
        nonlocal at
        for policy in overriding(policies, "at_boundary"):
            at = replace(at, next=_merged(at.next, await _opinion(policy, at)))

    try:
        await abort.wait(ask_all, grace=DECIDING_SECONDS)
    except Aborted:
        log.warning("deciding what comes next took too long after an abort")
    return at.next


async def prepare(decision: Next, abort: Abort) -> Next:
    """Await what the decision needs; returns the decision that holds afterwards."""
    if decision.prepare is not None:
        try:
            await abort.wait(decision.prepare)
        except StopRun as stop:
            return stop.next
        except Aborted:
            pass  # the caller checks the abort itself
        except Exception:
            log.exception("preparing what comes next failed")
    return decision


async def _opinion(policy: Policy, at: Boundary) -> Next:
    try:
        return await policy.at_boundary(at)
    except StopRun as stop:
        return stop.next
    except Exception:
        log.exception("%s failed at the %s boundary", type(policy).__name__, at.kind)
        return at.next


def _merged(so_far: Next, decision: Next) -> Next:
    """Return the stronger decision; keep the draft entries of both."""
    entries, before = decision.entries, so_far.entries
    if entries[: len(before)] != before:
        entries = before + entries
    weaker = _STRENGTH[decision.action] < _STRENGTH[so_far.action]
    return replace(so_far if weaker else decision, entries=entries)
