"""Repairs: resends a request without the part that the server rejected. Pure.

The message keeps a note of each repair, so that the session does not send the rejected part again
on later turns, also after it was resumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest, ProviderError
from pi.ai.messages import AssistantMessage, Json, Message, Text, Thinking, ToolCall
from pi.ai.models.model import Model
from pi.ai.request import Call
from pi.ai.wire_support.exchange import apply_payload_hook
from pi.ai.wire_support.handoff import is_own
from pi.base.clock import Clock
from pi.base.garbage import collection_paused
from pi.base.records import Record, replace
from pi.base.tasks import off_loop

THINKING_REJECTED = "thinking_signature_rejected"
"""The request succeeded only after earlier thinking was left out."""
STRICT_REJECTED = "strict_schema_rejected"
"""The request succeeded only after tools lost their strictness."""
TOOL_REJECTED = "tool_schema_rejected"
"""The request succeeded only after a tool was left out."""


TOKEN_IDS_REJECTED = "token_ids_rejected"
"""The request succeeded only without asking for token ids."""


class Repairs(Record):
    """The parts that are left out of a request because the server rejected them."""

    thinking: bool = False
    """Earlier thinking blocks."""
    strict: bool = False
    """Strictness of tools."""
    tools: frozenset[str] = frozenset()
    """Tools with schemas that the server does not support."""
    token_ids: bool = False
    """The request for token ids."""

    def __or__(self, more: Repairs) -> Repairs:
        return Repairs(
            thinking=self.thinking or more.thinking,
            strict=self.strict or more.strict,
            tools=self.tools | more.tools,
            token_ids=self.token_ids or more.token_ids,
        )


NO_REPAIRS = Repairs()


def repair_note(repair: Repairs, refusal: ProviderError, now_ms: int) -> Json:
    """Return the note that ``repair`` was made after ``refusal``."""
    if repair.token_ids:
        kind = TOKEN_IDS_REJECTED
    elif repair.thinking:
        kind = THINKING_REJECTED
    else:
        kind = STRICT_REJECTED if repair.strict else TOOL_REJECTED
    return {"type": kind, "timestamp": now_ms, "error": {"message": refusal.message}}


def refuses_strict(messages: Iterable[Message], model: Model, repairs: Repairs) -> bool:
    """Whether the server has rejected strict tools now or on an earlier turn."""
    return repairs.strict or _was_noted(messages, model, STRICT_REJECTED)


def refuses_token_ids(messages: Iterable[Message], model: Model, repairs: Repairs) -> bool:
    """Whether the server has refused to return token ids now or on an earlier turn."""
    return repairs.token_ids or _was_noted(messages, model, TOKEN_IDS_REJECTED)


def _was_noted(messages: Iterable[Message], model: Model, kind: str) -> bool:
    # Hardly any answer has a note, and a long conversation is searched for each request.
    noted = [m for m in messages if isinstance(m, AssistantMessage) and m.diagnostics]
    return any(_has_note(message, model, kind) for message in noted)


def without_thinking(answer: AssistantMessage) -> AssistantMessage:
    """Return ``answer`` without its thinking, and without the signatures that depend on it."""
    blocks = (_unsigned(block) for block in answer.content if not isinstance(block, Thinking))
    return replace(answer, content=tuple(blocks))


def without_refused_thoughts(
    messages: Sequence[Message],
    model: Model,
    repairs: Repairs,
    forget: Callable[[AssistantMessage], AssistantMessage] = without_thinking,
) -> tuple[Message, ...]:
    """Return ``messages`` without the thinking that the server rejected now or on an earlier turn.

    Thinking that it has sent since is valid. Other models' thinking stays: it is sent as plain
    text.
    """
    end = _refused(messages, model, repairs)
    if not end:
        return tuple(messages)
    trusted = (
        forget(message)
        if isinstance(message, AssistantMessage) and is_own(message, model)
        else message
        for message in messages[:end]
    )
    return (*trusted, *messages[end:])


def lacks_thinking(messages: Sequence[Message], model: Model, repairs: Repairs) -> bool:
    """Whether the latest response made calls after thinking that is left out.

    Some models can then not continue to think: they require the thinking before the calls.
    """
    answers = (
        (index, message)
        for index, message in reversed(tuple(enumerate(messages)))
        if isinstance(message, AssistantMessage)
        and message.stop_reason not in ("error", "aborted")  # such answers are not sent
    )
    index, latest = next(answers, (0, None))
    if latest is None or not latest.tool_calls:
        return False
    return index < _refused(messages, model, repairs)


def _unsigned(block: Text | ToolCall) -> Text | ToolCall:
    if isinstance(block, Text):
        return replace(block, text_signature=UNSET)
    return replace(block, thought_signature=UNSET)


def _refused(messages: Sequence[Message], model: Model, repairs: Repairs) -> int:
    """Return how many of ``messages`` must be sent without their thinking."""
    if repairs.thinking:
        return len(messages)
    noted = [
        index
        for index, message in enumerate(messages)
        if isinstance(message, AssistantMessage) and message.diagnostics
    ]
    notes = (index for index in noted if _has_note(messages[index], model, THINKING_REJECTED))
    return max(notes, default=0)


def _has_note(message: Message, model: Model, kind: str) -> bool:
    if not isinstance(message, AssistantMessage) or not message.diagnostics:
        return False
    return is_own(message, model) and any(note.get("type") == kind for note in message.diagnostics)


MAX_DROPPED_TOOLS = 3
"""How many tools are left out, one after the other, before the rejection is raised."""


async def send_with_repairs(
    call: Call,
    builder: MessageBuilder,
    clock: Clock,
    *,
    encode: Callable[[Repairs], Json],
    deliver: Callable[[Json], Awaitable[None]],
    next_repair: Callable[[BadRequest, Json], Repairs | None],
) -> None:
    """Encode and send until a response comes; every repair is noted in its message.

    ``next_repair`` returns what a rejected payload must leave out. The rejection is raised if that
    is nothing, if it was tried already, or if a part of a response has arrived.
    """
    repairs = NO_REPAIRS
    while True:
        with collection_paused():
            encoded = await off_loop(partial(encode, repairs), len(call.messages))
        payload = await apply_payload_hook(call, encoded)
        try:
            await deliver(payload)
            return
        except BadRequest as refusal:
            repair = next_repair(refusal, payload) or NO_REPAIRS
            repaired = repairs | repair
            if repaired == repairs or len(repaired.tools) > MAX_DROPPED_TOOLS or not builder.empty:
                raise
            repairs = repaired
            builder.diagnostics.append(repair_note(repair, refusal, clock.now_ms()))
