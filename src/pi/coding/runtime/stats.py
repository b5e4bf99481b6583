"""A session in numbers. Pure but for the log that is read."""

from __future__ import annotations

from collections import Counter

from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage, UserMessage
from pi.base.records import UNSET
from pi.coding.compaction.measuring import tokens_in_use
from pi.coding.runtime.core import Core
from pi.coding.runtime.counting import EntryCounts
from pi.coding.runtime.results import SessionState
from pi.coding.session.entries import Compaction, MessageEntry
from pi.coding.session.numbers import ContextUsage, SessionStats, TokenTotals


def session_stats(core: Core, counts: EntryCounts) -> SessionStats:
    """Counts and cost of the whole file: every branch, and what was compacted away."""
    counted = counts.all()
    kinds = Counter(each.message for each in counted if each.message is not None)
    usages = [each.usage for each in counted if each.usage is not None]
    file = core.log.file
    return SessionStats(
        session_file=UNSET if file is None else str(file),
        session_id=core.log.header.id,
        user_messages=kinds[UserMessage],
        assistant_messages=kinds[AssistantMessage],
        tool_calls=sum(each.tool_calls for each in counted),
        tool_results=kinds[ToolResultMessage],
        total_messages=kinds.total(),
        tokens=_totals(usages),
        cost=sum(usage.cost.total for usage in usages),
        context_usage=context_usage(core) or UNSET,
    )


def context_usage(core: Core) -> ContextUsage | None:
    """How full the window is; unknown after a compaction until the next answer."""
    window = core.agent.model.context_window
    if not core.has_model or window <= 0:
        return None
    if _compacted_since_answer(core):
        return ContextUsage(tokens=None, context_window=window, percent=None)
    tokens = tokens_in_use(core.conversation)
    return ContextUsage(tokens=tokens, context_window=window, percent=tokens / window * 100)


def session_state(core: Core, *, compacting: bool, auto_compaction: bool) -> SessionState:
    """What the session is at this moment."""
    inbox = core.agent.inbox
    return SessionState(
        model=core.agent.model if core.has_model else UNSET,
        thinking_level=core.agent.thinking_level,
        is_streaming=core.busy,
        is_compacting=compacting,
        steering_mode=inbox.steering_mode,
        follow_up_mode=inbox.follow_up_mode,
        session_file=UNSET if core.log.file is None else str(core.log.file),
        session_id=core.log.header.id,
        session_name=core.log.name or UNSET,
        auto_compaction_enabled=auto_compaction,
        message_count=len(core.conversation.messages()),
        pending_message_count=len(inbox.steering) + len(inbox.follow_ups),
    )


def last_answer_text(core: Core) -> str | None:
    """The words of the newest answer that has some."""
    for message in reversed(core.conversation.messages()):
        if isinstance(message, AssistantMessage) and message.text:
            return message.text
    return None


def _totals(usages: list[Usage]) -> TokenTotals:
    return TokenTotals(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cache_read=sum(usage.cache_read for usage in usages),
        cache_write=sum(usage.cache_write for usage in usages),
        total=sum(u.input + u.output + u.cache_read + u.cache_write for u in usages),
    )


def _compacted_since_answer(core: Core) -> bool:
    log, place = core.log, core.log.leaf
    while place is not None:
        match log.at(place):
            case Compaction():
                return True
            case MessageEntry(message=AssistantMessage(usage=usage)) if usage.total_tokens:
                return False
        place = log.tree.parent(place)
    return False
